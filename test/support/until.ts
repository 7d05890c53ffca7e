import { setTimeout as pause } from 'node:timers/promises';

/** Between two questions: a tenth of what was waited so far, so that a long wait leaves the processor to what it waits for. */
const pauseMs = (waitedMs: number): number => Math.min(Math.max(waitedMs / 10, 15), 100);

/** Asks until there is an answer. The limit only ends a test that would hang. */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined> | T | undefined,
  limitMs = 120_000,
): Promise<T> {
  const start = Date.now();
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    const waitedMs = Date.now() - start;
    if (waitedMs > limitMs) throw new Error(`timed out waiting for ${what}`);
    await pause(pauseMs(waitedMs));
  }
}
