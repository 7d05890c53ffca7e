import { describe, expect, test } from '@jest/globals';
import { isMessageLike, roleOf } from '../../engine/transcript.js';
import * as memory from '../../memory/context/message.js';

describe('what a plain object says as a message', () => {
  test.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])(
    'the role "%s" is none that anybody knows',
    (role) => {
      const value = { role, content: 'x' };
      expect([isMessageLike(value), memory.isMessageLike(value)]).toEqual([false, false]);
      expect([roleOf(value), memory.speakerOf(value)]).toEqual(['assistant', 'assistant']);
    },
  );

  test('transcript and memory agree on the roles there are', () => {
    for (const role of 'human user ai assistant tool function system developer other'.split(' ')) {
      const value = { role, content: 'x' };
      expect(roleOf(value)).toBe(memory.speakerOf(value));
      expect(isMessageLike(value)).toBe(memory.isMessageLike(value));
    }
  });
});
