/** How a run calls its graph: the shared compiled graph is never changed, everything of the run travels in the call. */
import { streamOptions } from './chunks.js';
import type { HeldThreadOptions } from './held-thread.js';
import type { GraphRun } from './port.js';
import type { PregelGraph } from './project/types.js';
import { runEvents } from './run-events.js';
import { saveBarrier } from './versions/save-barrier.js';
import { withSaver } from './versions/saver-copy.js';
import { traitsOf } from './versions/traits.js';

/** LangGraph's own default. */
const defaultRecursionLimit = 25;

export const recursionLimitOf = ({ call, graph }: GraphRun): number =>
  call?.recursionLimit ??
  (graph.graph.config as { recursionLimit?: number } | undefined)?.recursionLimit ??
  defaultRecursionLimit;

/** What nodes and factories see of the run: keys of the caller, then those of the platform. */
export const runConfig = ({
  call = {},
  identity,
  graph,
}: Pick<GraphRun, 'call' | 'identity' | 'graph'>): object => ({
  configurable: {
    ...call.configurable,
    thread_id: identity.threadId,
    run_id: identity.turnId,
    graph_id: identity.graphId,
    assistant_id: identity.graphId,
    tenant: identity.tenant,
    // Whose memory the turn names; otherwise who asks, where the project's auth knows.
    user_id: identity.userId ?? call.configurable?.user_id,
  },
  metadata: {
    ...call.metadata,
    graph_id: identity.graphId,
    assistant_id: identity.graphId,
    langgraph_version: graph.modules.versions.langgraph,
    langgraph_host: 'everthread',
    // LangGraph tells a retry from a new run by it (P5).
    run_id: identity.turnId,
  },
  runId: identity.turnId,
  ...(call.context !== undefined && { context: call.context }),
  ...(call.tags !== undefined && { tags: call.tags }),
  // Left out when not given: `undefined` would take the place of the graph's own.
  ...(call.recursionLimit !== undefined && { recursionLimit: call.recursionLimit }),
  ...(call.interruptBefore !== undefined && { interruptBefore: call.interruptBefore }),
  ...(call.interruptAfter !== undefined && { interruptAfter: call.interruptAfter }),
});

export interface CallParts {
  /** A RunControl, or undefined where the project's LangGraph (before 1.4) has none. */
  readonly control: object | undefined;
  /** Of a run that has a thread to itself. */
  readonly heldThread: HeldThreadOptions;
}

export function callOptions(run: GraphRun, { control, heldThread }: CallParts): object {
  const { configurable, ...config } = runConfig(run) as { configurable: object };
  const { callbacks: held = [], ...others } = heldThread;
  const told = run.tell === undefined ? held : [...held, runEvents(run.tell)];
  const { saver } = run.attempt;
  const callbacks = traitsOf(run.graph.modules).savesInStep
    ? told
    : [...told, saveBarrier(saver, run.signal)];
  return {
    ...config,
    configurable: { ...configurable, __pregel_checkpointer: saver },
    durability: 'sync',
    outputKeys: run.graph.graph.outputChannels,
    signal: run.signal,
    ...streamOptions(run),
    ...others,
    ...(run.store !== undefined && { store: run.store }),
    ...(callbacks.length > 0 && { callbacks }),
    ...(control !== undefined && { control }),
  };
}

/** Where the root graph's state stands, as the run sees it. */
export const rootPlace = ({ attempt, identity }: Pick<GraphRun, 'attempt' | 'identity'>) => ({
  thread_id: identity.threadId,
  checkpoint_ns: '',
  __pregel_checkpointer: attempt.saver,
});

/** The graph as this run calls it. */
export const callableIn = ({
  graph: { graph, modules },
  attempt,
  store,
}: Pick<GraphRun, 'graph' | 'attempt' | 'store'>): PregelGraph =>
  traitsOf(modules).savesPerCall
    ? callable(graph)
    : // As with the saver, 0.2.5 takes no store from a call.
      Object.assign(withSaver(graph, attempt.saver), store !== undefined && { store });

const persistent = new WeakMap<PregelGraph, PregelGraph>();

/** The saver of a call loses against `checkpointer: false` alone: such a graph is called through a copy without it. */
export function callable(graph: PregelGraph): PregelGraph {
  if (graph.checkpointer !== false) return graph;
  let copy = persistent.get(graph);
  if (copy === undefined) {
    copy = withSaver(graph, undefined);
    persistent.set(graph, copy);
  }
  return copy;
}
