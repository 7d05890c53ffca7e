/** What a process has started, ended in reverse order. */
export interface Stack {
  /** Remembers how to end `part` and gives it back. */
  add<T>(part: T, stop: () => void | Promise<void>): T;
  /** Ends everything, last first; one that fails does not keep the others. Safe to call again. */
  stop(): Promise<void>;
  /** After a start that failed: ends everything and throws why, whatever else fails then. */
  fail(error: unknown): Promise<never>;
}

export function stack(): Stack {
  const stops: (() => void | Promise<void>)[] = [];
  let stopping: Promise<void> | undefined;
  const stopAll = async (): Promise<void> => {
    const failures: unknown[] = [];
    for (let stop = stops.pop(); stop !== undefined; stop = stops.pop()) {
      try {
        await stop();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'Some parts did not stop cleanly.');
  };
  const stop = (): Promise<void> => (stopping ??= stopAll());
  return {
    add(part, end) {
      stops.push(end);
      return part;
    },
    stop,
    async fail(error) {
      await stop().catch(() => undefined);
      throw error;
    },
  };
}

/** Waits until every part has started or failed, so that none starts behind the back of a stop; then throws the first failure. */
export async function allStarted<T extends readonly unknown[]>(parts: {
  readonly [K in keyof T]: Promise<T[K]>;
}): Promise<T> {
  await Promise.allSettled(parts);
  return await Promise.all(parts);
}
