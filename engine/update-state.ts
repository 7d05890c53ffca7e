/**
 * LangGraph's own `updateState` inside a turn: the writers of a node run, with reducers and edges, and no node (F5). What
 * follows that node is what waits then, so an open question stays open where its node still does.
 */
import type { StateUpdate } from '../contracts/turn-input.js';
import { baseValues } from './base-values.js';
import { callableIn, rootPlace, runConfig } from './call.js';
import type { EditStop, StateEdit } from './put-head.js';
import { interruptsOf, outputOf } from './interrupted.js';
import { turnOutput } from './output.js';
import { ownGraph } from './own-graph.js';
import type { PregelGraph } from './project/types.js';
import { unknownNode } from './refused-start.js';
import { nameOf } from './stop-of-error.js';
import { refuseNewer } from './versions/older-reader.js';

interface Snapshot {
  readonly values: unknown;
  readonly next: readonly string[];
  readonly tasks: readonly { readonly interrupts?: readonly unknown[] }[];
}

/** @throws what the saver throws, and what code of the project throws that is no refusal of the values */
export async function updateState(
  given: StateEdit,
  { values, asNode }: StateUpdate,
): Promise<EditStop> {
  const run = await ownGraph(given);
  const { attempt, identity, graph: loaded } = run;
  refuseNewer(attempt.writtenBy, loaded.modules.versions.langgraph);
  const graph = callableIn(run);
  if (asNode !== undefined && !isNode(graph, asNode, values)) {
    return { kind: 'failed', failure: unknownNode(graph.nodes, asNode) };
  }
  const { configurable, ...config } = runConfig(run) as { configurable: object };
  const place = { ...configurable, ...rootPlace(run) };
  try {
    await graph.updateState({ ...config, configurable: place }, values, asNode);
  } catch (error) {
    if (nameOf(error) !== 'InvalidUpdateError') throw error;
    return { kind: 'failed', failure: { code: 'invalid_update', message: whyNot(error) } };
  }
  const snapshot = (await graph.getState({ configurable: place })) as Snapshot;
  const output = turnOutput(
    outputOf(graph, snapshot.values),
    await baseValues(run),
    identity.turnId,
  );
  if (snapshot.next.length === 0) return { kind: 'finished', output };
  return {
    kind: 'interrupted',
    output,
    interrupts: interruptsOf(snapshot.tasks.flatMap((task) => task.interrupts ?? [])),
    next: [...new Set(snapshot.next)],
  };
}

/** `__end__` with null ends what waits. LangGraph's other words for places that are no nodes rewrite its history. */
const isNode = ({ nodes }: PregelGraph, name: string, values: unknown): boolean =>
  Object.hasOwn(nodes, name) || (name === '__end__' && values === null);

/** LangGraph's words may quote the values. */
const whyNot = (error: unknown): string =>
  (error as Error).message.startsWith('Ambiguous')
    ? 'Several nodes may have been the last one: say by as_node whose update this is.'
    : "The graph's state does not take these values.";
