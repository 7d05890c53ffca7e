import { describe, expect, test } from '@jest/globals';
import type { Frame } from '../../contracts/frames.js';
import { frameQueue, type Batch } from '../../storage/relay-queue.js';

const wake: Frame = { turn: 't', fence: 1, step: 0, seq: 1, kind: 'wake', data: null };
const noJson: Frame = { ...wake, kind: 'custom', data: { big: 1n } };

describe('frames on their way out', () => {
  test.each([
    ['nothing, as an accept that cancels nothing publishes it', []],
    ['what a node wrote that is no JSON', [noJson]],
  ])('P6 P10 after %s the next frame goes out', async (_, frames) => {
    const sent: Batch[] = [];
    const queue = frameQueue((batch) => Promise.resolve(void sent.push(...batch)));
    queue.push(frames);
    await queue.drain();
    queue.push([wake]);
    await queue.drain();
    expect(sent).toEqual([{ shard: 'wake', payload: expect.stringContaining('"turn":"t"') }]);
  });
});
