import type { GraphFactory, PregelGraph } from './types.js';

/**
 * Makes a graph of what a project exports, or of what its factory returns: a compiled graph, a builder, a promise, a
 * `createAgent` wrapper or an `entrypoint`. Told apart by shape, since the project's classes are not ours.
 * @throws Error that says what it is instead
 */
export const unwrapGraph = async (exported: unknown): Promise<PregelGraph> =>
  compiled(await exported);

/** The exported function that makes a graph, if the export is one. */
export const factoryOf = (exported: unknown): GraphFactory | undefined =>
  typeof exported === 'function' && !isPregel(exported) ? (exported as GraphFactory) : undefined;

function compiled(value: unknown): PregelGraph {
  if (isPregel(value)) return value;
  if (isObject(value)) {
    if (isPregel(value.graph)) return value.graph;
    if (typeof value.compile === 'function') {
      const graph: unknown = (value.compile as () => unknown).call(value);
      if (isPregel(graph)) return graph;
    }
  }
  throw new Error(`it is ${describe(value)}, not a LangGraph graph or a function that makes one`);
}

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields =>
  (typeof value === 'object' || typeof value === 'function') && value !== null;

/** Channels tell a graph that runs here from a RemoteGraph, which has none to checkpoint. */
const isPregel = (value: unknown): value is PregelGraph =>
  isObject(value) &&
  typeof value.invoke === 'function' &&
  typeof value.stream === 'function' &&
  isObject(value.nodes) &&
  isObject(value.channels) &&
  value.inputChannels !== undefined;

function describe(value: unknown): string {
  if (value === undefined) return 'undefined';
  if (value === null) return 'null';
  const name = isObject(value)
    ? (value.constructor as { name?: string } | undefined)?.name
    : undefined;
  return name === undefined || name === '' ? `of type ${typeof value}` : `a ${name}`;
}

/** All subgraphs that LangGraph can tell of, by their path. */
export function subgraphsOf(graph: PregelGraph): readonly (readonly [string, PregelGraph])[] {
  try {
    return [...(graph.getSubgraphs?.(undefined, true) ?? [])];
  } catch {
    return [];
  }
}

/** Subgraphs with a memory of their own: a crash just before one repeats or loses work inside LangGraph (P11). */
export const statefulSubgraphs = (graph: PregelGraph): readonly string[] =>
  subgraphsOf(graph)
    .filter(([, subgraph]) => subgraph.checkpointer === true)
    .map(([name]) => name);

/** A channel whose value is in no checkpoint, but rebuilt from writes. */
export const isDelta = (channel: unknown): boolean =>
  (channel as { readonly lc_graph_name?: string } | undefined)?.lc_graph_name === 'DeltaChannel';
