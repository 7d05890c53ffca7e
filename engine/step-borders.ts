/**
 * What happens where one root superstep ends and the next has not begun. Draining is asked for only here: a drain asked
 * for earlier would stop a subgraph before it makes progress, on every attempt anew.
 */
import { recursionLimitOf } from './call.js';
import type { FinishedStep } from '../storage/saver/port.js';
import type { GraphRun } from './port.js';

interface RunControl {
  requestDrain(reason?: string): void;
}

export class StepBorders {
  /** Undefined where the project's LangGraph has no draining: such a run goes through to its end. */
  readonly control: RunControl | undefined;
  readonly #limit: number;
  #finished: number;
  #drains: boolean;

  constructor(run: GraphRun) {
    const { RunControl } = run.graph.modules.langgraph as {
      RunControl?: new () => RunControl;
    };
    this.control = RunControl && new RunControl();
    this.#limit = allowedSteps(run);
    this.#finished = run.finishedSteps;
    this.#drains = run.slice === 'superstep';
  }

  drainAtNext(): void {
    this.#drains = true;
  }

  /** The supersteps of all attempts together have used up the recursion limit (P11). */
  isExhausted(): boolean {
    return this.#finished >= this.#limit;
  }

  reached({ step }: FinishedStep): void {
    this.#finished = step;
    if (this.#drains || this.isExhausted()) this.control?.requestDrain();
  }
}

/**
 * Supersteps after which LangGraph gives a whole run up; it sees the steps of its own call only. Not given to it as a
 * smaller limit, since subgraphs would inherit that. Its count starts at the input, or for a resume behind it, and a
 * graph without a `__start__` node has one step more.
 */
function allowedSteps(run: GraphRun): number {
  const limit = recursionLimitOf(run);
  if (run.start.kind === 'resume') return limit + 2;
  return '__start__' in run.graph.graph.nodes ? limit : limit + 1;
}
