import { describe, expect, test } from '@jest/globals';
import type { Frame } from '../../contracts/frames.js';
import { frameReader, packFrames } from '../../storage/relay-packing.js';

const frame: Frame = {
  ...{ turn: 't', fence: 1, step: 0, seq: 1 },
  ...{ kind: 'custom', data: 'x'.repeat(20_000) },
};

describe('payloads of NOTIFY', () => {
  const foreign = [
    ...['', 'hello', 'null', '7', '[]', '{}', '"frames"', '{"frames":7}', '{"frames":[null]}'],
    ...['{"frames":[7]}', '{"part":null}', '{"part":{}}'],
    JSON.stringify({ part: { id: 'a', index: 0, of: 1, text: 'bm8gSlNPTg==' } }),
    JSON.stringify({ part: { id: 'a', index: 0, of: 1, text: 'bnVsbA==' } }),
    JSON.stringify({ part: { id: 'a', index: 4e9, of: 1, text: '' } }),
    JSON.stringify({ part: { id: 'a', index: -1, of: 0, text: '' } }),
  ];

  test.each(foreign)(
    'P10 what somebody else sends is passed over, and ends nothing: %s',
    (text) => {
      const read = frameReader();
      expect(read(text)).toEqual([]);
      const payloads = packFrames([{ frame, text: JSON.stringify(frame) }]);
      expect(payloads.length).toBeGreaterThan(1);
      expect(payloads.flatMap(read)).toEqual([frame]);
    },
  );
});
