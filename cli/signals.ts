/** Ctrl-C and SIGTERM: the first asks for a clean stop, a later one ends the process at once. */

/**
 * A second signal within this time is the same wish: a terminal signals the whole process group, and npm passes on
 * what it was sent too.
 */
const sameWishMs = 1_000;

const signals = ['SIGINT', 'SIGTERM'] as const;
type StopSignal = (typeof signals)[number];

/** As shells count: 128 and the number of the signal. */
const exitCodes: Record<StopSignal, number> = { SIGINT: 130, SIGTERM: 143 };

/** Listens from now on, for the rest of the process. @returns a signal that aborts when a stop is asked for */
export function listenForStop(say: (text: string) => void): AbortSignal {
  const asked = new AbortController();
  let askedAtMs = 0;
  const onSignal = (signal: StopSignal): void => {
    const nowMs = performance.now();
    if (!asked.signal.aborted) {
      askedAtMs = nowMs;
      say('Stopping; the same again stops at once.');
      asked.abort();
    } else if (nowMs - askedAtMs > sameWishMs) {
      say('Stopped at once; what was running goes on at the next start.');
      process.exit(exitCodes[signal]);
    }
  };
  for (const signal of signals) process.on(signal, onSignal);
  return asked.signal;
}
