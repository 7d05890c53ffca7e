/** Which run a callback belongs to, so that an exception nobody catches ends its turn and not the process. */
import { AsyncLocalStorage } from 'node:async_hooks';

export interface RunContext {
  /** Name of the graph that runs. */
  readonly graph: string;
  /** Ends the run as if its node had thrown. */
  readonly fail: (error: unknown) => void;
}

export const runContext = new AsyncLocalStorage<RunContext>();

/** @returns the graph whose run the exception belonged to, and fails; undefined when it was nobody's */
export function failRunOf(error: unknown): string | undefined {
  const run = runContext.getStore();
  run?.fail(error);
  return run?.graph;
}

/** The graph that runs where this is called from. */
export const runningGraph = (): string | undefined => runContext.getStore()?.graph;
