/** Which run a callback belongs to, so that an exception nobody catches ends its turn and not the process. */
import { AsyncLocalStorage } from 'node:async_hooks';

export interface RunContext {
  /** Ends the run as if its node had thrown. */
  readonly fail: (error: unknown) => void;
}

export const runContext = new AsyncLocalStorage<RunContext>();

/** @returns whether the exception belonged to a run, which then fails */
export function failRunOf(error: unknown): boolean {
  const run = runContext.getStore();
  run?.fail(error);
  return run !== undefined;
}
