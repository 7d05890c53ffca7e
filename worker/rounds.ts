/** Work that every worker of a fleet does again and again, at times of its own. */
import type { Logger } from 'pino';

/** `ending` says that nobody wants more of it. */
export type Round = (ending: AbortSignal) => Promise<void>;

/** A timer of Node that is set to more runs all the time. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * @param round never rejects: {@link tolerant}
 * @returns a function that ends the rounds and waits for one under way
 */
export function startRounds(round: Round, everyMs: number): () => Promise<void> {
  const ending = new AbortController();
  let underWay: Promise<void> | undefined;
  const next = async (): Promise<void> => {
    await round(ending.signal);
    underWay = undefined;
  };
  // Workers of one fleet look at different times.
  const ownMs = everyMs * (0.75 + Math.random() / 2);
  const timer = setInterval(() => void (underWay ??= next()), Math.min(ownMs, longestTimerMs));
  timer.unref();
  return async () => {
    clearInterval(timer);
    ending.abort();
    await underWay;
  };
}

/** A round that fails is a line of the log, without the error's words (A6): the next one tries again. */
export const tolerant =
  (log: Pick<Logger, 'warn'>, failed: string, round: Round): Round =>
  async (ending) => {
    try {
      await round(ending);
    } catch (error) {
      log.warn({ error: error instanceof Error ? error.name : 'unknown' }, failed);
    }
  };

/** Takes batches until one is not full, or nobody wants more. @returns how much in all */
export async function takeAll(
  most: number,
  take: (most: number) => Promise<number>,
  ending: AbortSignal,
): Promise<number> {
  let all = 0;
  for (let last = most; last === most && !ending.aborted; all += last) last = await take(most);
  return all;
}
