/** Which run a callback belongs to, so that an exception nobody catches ends its turn and not the process. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { ClaimedTurn } from '../storage/port.js';

export interface RunContext {
  /** Name of the graph that runs. */
  readonly graph: string;
  /** Absent where code of a project runs for no turn. */
  readonly thread?: string;
  readonly turn?: string;
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

/** By what lines of the log name a turn. */
export const namesOf = ({ graph, claim }: Pick<ClaimedTurn, 'graph' | 'claim'>) => ({
  graph,
  thread: claim.thread.threadId,
  turn: claim.turnId,
});

/** The same for a line about whatever runs where this is called from. */
export function runningTurn(): object {
  const { graph, thread, turn } = runContext.getStore() ?? {};
  return { graph, thread, turn };
}
