/**
 * Channels that LangGraph rebuilds from what was written behind the checkpoints before (`DeltaChannel`). Where a turn does not
 * stand on the newest version, the turns left behind have written there, too: so the value is stored whole, which takes the graph.
 */
import { callableIn, rootPlace } from './call.js';
import type { GraphRun } from './port.js';
import { isDelta } from './project/graph-export.js';
import { putHead } from './put-head.js';

type Values = Readonly<Record<string, unknown>>;

/** The values of the graph's delta channels where the turn stands; empty for a graph that has none. */
export async function deltaValues(
  run: Pick<GraphRun, 'graph' | 'attempt' | 'identity' | 'store'>,
): Promise<Values> {
  const { channels } = run.graph.graph;
  const names = Object.keys(channels).filter((name) => isDelta(channels[name]));
  if (names.length === 0) return {};
  const state = await callableIn(run).getState({ configurable: rootPlace(run) });
  const { values } = state as { readonly values: Values };
  return Object.fromEntries(
    names.filter((name) => Object.hasOwn(values, name)).map((name) => [name, values[name]]),
  );
}

/** As LangGraph stores them itself from time to time. */
export function snapshots({ graph }: Pick<GraphRun, 'graph'>, values: Values): Values {
  const { DeltaSnapshot } = graph.modules.checkpoint;
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, new DeltaSnapshot(value)]),
  );
}

/**
 * Before the first superstep of a fork. An answer is not among them, nor is a command: both go to the tasks that wait under
 * the version's own checkpoint.
 */
export async function storeDeltasWhole(run: GraphRun): Promise<void> {
  const { forks, attempt, start, call } = run;
  if (!forks || attempt.hasRows || start.kind === 'resume' || call?.command !== undefined) return;
  const values = await deltaValues(run);
  if (Object.keys(values).length > 0) await putHead(run, snapshots(run, values));
}
