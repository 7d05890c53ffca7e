/**
 * P11 below the root: a subgraph's early rows may be flushed where it stands at a breakpoint of its own, and the process may
 * die before the turn settles `interrupted`. Running on with `null` would pass the breakpoint without anybody's approval.
 */
import type { CheckpointTuple } from '@langchain/langgraph-checkpoint';
import { callableIn, rootPlace } from './call.js';
import type { GraphRun } from './port.js';
import { subgraphsOf } from './project/graph-export.js';
import type { PregelGraph } from './project/types.js';
import { successorsOf } from './successors.js';

interface Snapshot {
  readonly config?: { readonly configurable?: { readonly checkpoint_ns?: string } };
  readonly parentConfig?: object;
  readonly tasks: readonly { readonly name: string; readonly state?: Snapshot }[];
}

/** Whether a subgraph that this turn has begun waits at a breakpoint. Those that a node calls by itself cannot be seen. */
export async function waitsInSubgraph(run: GraphRun): Promise<boolean> {
  if (!run.attempt.hasRows) return false;
  const graph = callableIn(run);
  const subgraphs = new Map(subgraphsOf(graph));
  if (![...subgraphs.values()].some(hasBreakpoints)) return false;
  const configurable = rootPlace(run);
  const root = (await graph.getState({ configurable }, { subgraphs: true })) as Snapshot;
  for (const { name, at } of below(root, '')) {
    const subgraph = subgraphs.get(name);
    if (subgraph !== undefined && hasBreakpoints(subgraph) && (await waits(run, subgraph, at)))
      return true;
  }
  return false;
}

const hasBreakpoints = ({ interruptBefore = [], interruptAfter = [] }: PregelGraph): boolean =>
  interruptBefore.length > 0 || interruptAfter.length > 0;

/** Subgraphs of the pending tasks, however deep, by the names that `getSubgraphs` gives them. */
function below(
  { tasks }: Snapshot,
  path: string,
): readonly { readonly name: string; readonly at: Snapshot }[] {
  return tasks.flatMap(({ name, state }) => {
    const full = path === '' ? name : `${path}|${name}`;
    return state?.tasks === undefined ? [] : [{ name: full, at: state }, ...below(state, full)];
  });
}

async function waits(run: GraphRun, subgraph: PregelGraph, at: Snapshot): Promise<boolean> {
  const { saver } = run.attempt;
  const configurable = { thread_id: run.identity.threadId, ...at.config?.configurable };
  const tuple = await saver.getTuple({ configurable });
  if (tuple === undefined || !isOfTurn(tuple, run.identity.turnId) || isApproved(tuple))
    return false;
  const next = successorsOf(subgraph);
  const { parentConfig } = tuple;
  const parent = parentConfig === undefined ? undefined : await saver.getTuple(parentConfig);
  const ran = parent === undefined ? [] : next(parent.checkpoint);
  return (
    names(subgraph, subgraph.interruptBefore, next(tuple.checkpoint)) ||
    names(subgraph, subgraph.interruptAfter, ran)
  );
}

/** What an earlier turn has left there is answered by this one. */
const isOfTurn = ({ metadata }: CheckpointTuple, turnId: string): boolean =>
  (metadata as { readonly run_id?: unknown } | undefined)?.run_id === turnId;

/** Nothing has changed since the subgraph was last told to run on: LangGraph's own test. */
function isApproved({ checkpoint }: CheckpointTuple): boolean {
  const seen = checkpoint.versions_seen.__interrupt__ ?? {};
  return Object.entries(checkpoint.channel_versions).every(
    ([channel, version]) => seen[channel] === version,
  );
}

/** Whether a breakpoint is at one of the nodes. `*` leaves out LangGraph's own. */
export function names(
  { nodes }: PregelGraph,
  breakpoints: '*' | readonly string[] | undefined,
  which: readonly string[],
): boolean {
  if (breakpoints === undefined) return false;
  return which.some((name) =>
    breakpoints === '*' ? !isHidden(nodes[name]) : breakpoints.includes(name),
  );
}

const isHidden = (node: unknown): boolean =>
  (node as { readonly tags?: readonly string[] } | undefined)?.tags?.includes('langsmith:hidden') ??
  false;
