import { describe, expect, test } from '@jest/globals';
import { stack } from '../../config/stack.js';

describe('what a process has started', () => {
  test('a start that failed says why, also when a part does not stop cleanly then', async () => {
    const ended: string[] = [];
    const parts = stack();
    parts.add('first', () => void ended.push('first'));
    parts.add('second', () => {
      throw new Error('cannot be closed');
    });
    await expect(parts.fail(new Error('PORT is taken'))).rejects.toThrow('PORT is taken');
    expect(ended).toEqual(['first']);
  });
});
