import { afterEach, describe, expect, jest, test } from '@jest/globals';
import type { Frame } from '../../contracts/frames.js';
import { frameQueue, type Batch } from '../../storage/relay-queue.js';

const wake: Frame = { turn: 't', fence: 1, step: 0, seq: 1, kind: 'wake', data: null };
const noJson: Frame = { ...wake, kind: 'custom', data: { big: 1n } };

const step: Frame = { ...wake, kind: 'custom', data: 'a step' };

afterEach(() => {
  jest.useRealTimers();
});

/** Lets everything go on that waits for no timer. */
async function microtasks(): Promise<void> {
  for (let n = 0; n < 10; n += 1) await Promise.resolve();
}

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

  test('P6 a wake waits neither for the pause between two statements nor for the one after that which is under way', async () => {
    jest.useFakeTimers(); // no pause ends by itself
    const sent: string[] = [];
    let inFlight = Promise.resolve();
    const queue = frameQueue((batch) => {
      sent.push(batch.map(({ shard }) => (shard === 'wake' ? 'wake' : 'frame')).join());
      return inFlight;
    });
    queue.push([step]);
    await microtasks();
    queue.push([step]);
    await microtasks();
    expect(sent).toEqual(['frame']);
    let arrived = (): void => undefined;
    inFlight = new Promise((resolve) => (arrived = resolve));
    queue.push([wake]);
    await microtasks();
    expect(sent).toEqual(['frame', 'frame,wake']);
    queue.push([wake]);
    arrived();
    await microtasks();
    expect(sent).toEqual(['frame', 'frame,wake', 'wake']);
  });
});
