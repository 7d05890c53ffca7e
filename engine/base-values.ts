/** The state that a turn stands on, for telling its messages from older ones. */
import { callableIn, rootPlace } from './call.js';
import type { GraphRun } from './port.js';
import { isDelta } from './project/graph-export.js';

type Values = Readonly<Record<string, unknown>>;

/**
 * A delta channel's value is not in its checkpoints but rebuilt by the graph from the writes before it; so for such
 * graphs the newest checkpoint that is not of this turn is read through the graph.
 */
export async function baseValues(
  run: Pick<GraphRun, 'graph' | 'attempt' | 'identity' | 'store'>,
): Promise<Values | undefined> {
  const base = await run.attempt.baseValues();
  if (base === undefined || !isDelta(run.graph.graph.channels.messages)) return base;
  const configurable = rootPlace(run);
  let tuple = await run.attempt.saver.getTuple({ configurable });
  while (tuple?.metadata !== undefined && runOf(tuple.metadata) === run.identity.turnId) {
    if (tuple.parentConfig === undefined) return undefined;
    tuple = await run.attempt.saver.getTuple(tuple.parentConfig);
  }
  const id: unknown = tuple?.checkpoint.id;
  if (id === undefined) return undefined;
  const snapshot = await callableIn(run).getState({
    configurable: { ...configurable, checkpoint_id: id },
  });
  return (snapshot as { readonly values: Values }).values;
}

const runOf = (metadata: object): unknown => ('run_id' in metadata ? metadata.run_id : undefined);
