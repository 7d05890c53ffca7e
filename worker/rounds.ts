/** Work that every worker of a fleet does again and again, at times of its own. */

/** @returns a function that ends the rounds and waits for one under way */
export function startRounds(round: () => Promise<void>, everyMs: number): () => Promise<void> {
  let running: Promise<void> = Promise.resolve();
  let busy = false;
  const next = async (): Promise<void> => {
    if (busy) return;
    busy = true;
    try {
      await round();
    } finally {
      busy = false;
    }
  };
  // Workers of one fleet look at different times.
  const timer = setInterval(() => void (running = next()), everyMs * (0.75 + Math.random() / 2));
  timer.unref();
  return async () => {
    clearInterval(timer);
    await running;
  };
}
