/** Work that every worker of a fleet does again and again, at times of its own. */

/** A timer of Node that is set to more runs all the time. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * @param round never rejects; `ending` tells it that nobody wants more of it
 * @returns a function that ends the rounds and waits for one under way
 */
export function startRounds(
  round: (ending: AbortSignal) => Promise<void>,
  everyMs: number,
): () => Promise<void> {
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
