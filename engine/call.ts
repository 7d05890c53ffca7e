/** How a run calls its graph: the shared compiled graph is never changed, everything of the run travels in the call. */
import { streamOptions } from './chunks.js';
import type { GraphRun } from './port.js';
import type { PregelGraph } from './project/types.js';

/** LangGraph's own default. */
const defaultRecursionLimit = 25;

export const recursionLimitOf = ({ recursionLimit, graph }: GraphRun): number =>
  recursionLimit ??
  (graph.graph.config as { recursionLimit?: number } | undefined)?.recursionLimit ??
  defaultRecursionLimit;

/** `drain` is a RunControl, or undefined where the project's LangGraph (before 1.4) has none. */
export const callOptions = (
  run: GraphRun,
  signal: AbortSignal,
  drain: object | undefined,
  heldThread: object,
): object => ({
  configurable: {
    thread_id: run.identity.threadId,
    run_id: run.identity.turnId,
    graph_id: run.identity.graphId,
    assistant_id: run.identity.graphId,
    user_id: run.identity.userId,
    __pregel_checkpointer: run.attempt.saver,
  },
  // LangGraph tells a retry from a new run by it (P5).
  metadata: { run_id: run.identity.turnId },
  durability: 'sync',
  outputKeys: run.graph.graph.outputChannels,
  signal,
  ...streamOptions(run),
  ...heldThread,
  ...(run.recursionLimit !== undefined && { recursionLimit: run.recursionLimit }),
  ...(drain !== undefined && { control: drain }),
});

const persistent = new WeakMap<PregelGraph, PregelGraph>();

/** The saver of a call loses against `checkpointer: false` alone: such a graph is called through a copy without it. */
export function callable(graph: PregelGraph): PregelGraph {
  if (graph.checkpointer !== false) return graph;
  let copy = persistent.get(graph);
  if (copy === undefined) {
    copy = Object.assign(
      Object.create(Object.getPrototypeOf(graph) as object) as PregelGraph,
      graph,
      {
        checkpointer: undefined,
      },
    );
    persistent.set(graph, copy);
  }
  return copy;
}
