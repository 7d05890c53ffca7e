import { describe, expect, test } from '@jest/globals';
import { startRounds } from '../../worker/rounds.js';
import { until } from '../support/until.js';

const weekMs = 7 * 24 * 3_600_000;

/** Time that is long beside rounds of 10 ms. */
async function manyRounds(): Promise<void> {
  let rounds = 0;
  const stop = startRounds(() => Promise.resolve(void (rounds += 1)), 10);
  await until('other rounds', () => rounds >= 5 || undefined);
  await stop();
}

describe('work that a worker does again and again', () => {
  test('whoever ends it waits for the round under way, also when others would have been due meanwhile', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    let began = 0;
    let isOver = false;
    const stop = startRounds(async () => {
      began += 1;
      await held;
      isOver = true;
    }, 10);
    await until('a round', () => began > 0 || undefined);
    await manyRounds();
    const sawItsEnd = stop().then(() => isOver);
    await manyRounds();
    release();
    expect([await sawItsEnd, began]).toEqual([true, 1]);
  });

  test('a round is told when it is to end', async () => {
    let told: AbortSignal | undefined;
    const stop = startRounds(async (ending) => {
      told = ending;
      await new Promise((resolve) => ending.addEventListener('abort', resolve));
    }, 10);
    await until('a round', () => told);
    await stop();
    expect(told?.aborted).toBe(true);
  });

  test('O11 rounds that are weeks apart do not run all the time: a timer of Node takes 24 days at most', async () => {
    let rounds = 0;
    const stop = startRounds(() => Promise.resolve(void (rounds += 1)), 5 * weekMs);
    await manyRounds();
    await stop();
    expect(rounds).toBe(0);
  });
});
