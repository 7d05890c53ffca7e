/**
 * What LangGraph would take without a word, or fail on with words of its own: an input that is no object, and a `goto` to
 * nowhere, of which it runs nothing and calls that the end.
 */
import type { Failure } from '../contracts/failure.js';
import type { GraphRun, Stop } from './port.js';
import type { PregelGraph } from './project/types.js';

/** Undefined when the graph may begin. What an earlier attempt has begun is not asked again. */
export function refusedStart({ attempt, start, call, graph }: GraphRun): Stop | undefined {
  if (attempt.hasRows) return undefined;
  const failure =
    (start.kind === 'input' ? refusedInput(graph.graph, start.value) : undefined) ??
    lostTarget(graph.graph, call?.command?.goto ?? []);
  return failure && { kind: 'failed', failure };
}

/** Null is no input: a command, or nothing, which LangGraph judges itself. */
function refusedInput(graph: PregelGraph, value: unknown): Failure | undefined {
  if (value === null || value === undefined || !takesObjects(graph)) return undefined;
  if (typeof value === 'object' && !Array.isArray(value)) return undefined;
  const given = Array.isArray(value) ? 'an array' : `a ${typeof value}`;
  const message = `The input is ${given}; this graph takes an object of its channels, as {"messages": [...]}.`;
  return { code: 'invalid_input', message };
}

/** An `entrypoint`, a message graph and a hand-made Pregel take any value. */
const takesObjects = ({ builder, channels, inputChannels }: PregelGraph): boolean =>
  Array.isArray(inputChannels) ||
  (typeof builder === 'object' &&
    builder !== null &&
    'channels' in builder &&
    !Object.hasOwn(channels, '__root__'));

type Target = string | { readonly node: string };

function lostTarget({ nodes }: PregelGraph, targets: readonly Target[]): Failure | undefined {
  const lost = targets
    .map((target) => (typeof target === 'string' ? target : target.node))
    .find((name) => name !== '__end__' && (name === '__start__' || !Object.hasOwn(nodes, name)));
  return lost === undefined ? undefined : unknownNode(nodes, lost);
}

/** What does not look like a name is not said back. */
const nameLike = /^[\w .:/-]{1,64}$/;

export function unknownNode(nodes: PregelGraph['nodes'], name: string): Failure {
  const known = Object.keys(nodes).filter((node) => node !== '__start__');
  const lost = nameLike.test(name) ? `no node "${name}"` : 'no such node';
  return { code: 'unknown_node', message: `The graph has ${lost}; it has ${known.join(', ')}.` };
}
