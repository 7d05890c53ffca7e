import { setTimeout as pause } from 'node:timers/promises';

/** Asks until there is an answer. The limit only ends a test that would hang. */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined> | T | undefined,
  limitMs = 60_000,
): Promise<T> {
  const end = Date.now() + limitMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (Date.now() > end) throw new Error(`timed out waiting for ${what}`);
    await pause(15);
  }
}
