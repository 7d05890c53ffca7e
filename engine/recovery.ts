/** P11: running on with `null` after a crash or a yield is not a person's approval, and a deploy may have changed the graph. */
import type { GraphRun, Stop } from './port.js';
import { interruptedStop } from './interrupted.js';
import { graphChanged } from './stop-of-error.js';
import { names, waitsInSubgraph } from './subgraph-breakpoints.js';
import { sendsIn, successorsOf } from './successors.js';

/** What must be settled before the graph runs on; undefined when it may. */
export async function recheck(run: GraphRun): Promise<Stop | undefined> {
  const { recovered, graph } = run;
  if (recovered === null && run.start.kind === 'resume') {
    const lost = await lostNodes(run);
    if (lost.length > 0)
      return graphChanged(
        `The graph has no node ${list(lost)} any more, which waits for this answer.`,
      );
  }
  if (recovered === null)
    return (await waitsInSubgraph(run)) ? interruptedStop(run, []) : undefined;
  const tuple = await headOf(run);
  if (tuple === undefined) return undefined;
  const pending = successorsOf(graph.graph)(tuple.checkpoint);
  const stored = [...recovered.pending].sort();
  if (pending.join('\n') !== stored.join('\n') || !pending.every((n) => n in graph.graph.nodes)) {
    return graphChanged(
      `The graph has changed under a running turn: ${list(stored)} was next, now it is ${list(pending)}.`,
    );
  }
  const { interruptBefore, interruptAfter } = { ...graph.graph, ...run.call };
  const applies =
    names(graph.graph, interruptAfter, recovered.ran) ||
    names(graph.graph, interruptBefore, pending) ||
    (await waitsInSubgraph(run));
  return applies ? interruptedStop(run, []) : undefined;
}

const headOf = (run: GraphRun) =>
  run.attempt.saver.getTuple({
    configurable: { thread_id: run.identity.threadId, checkpoint_ns: '' },
  });

/** LangGraph takes an answer to a node that a deploy removed, runs nothing and calls that the end. */
async function lostNodes(run: GraphRun): Promise<readonly string[]> {
  const checkpoint = (await headOf(run))?.checkpoint;
  if (checkpoint === undefined) return [];
  const waiting = Object.keys(checkpoint.channel_values).flatMap(
    (channel) => /^branch:to:(.+)$/.exec(channel)?.[1] ?? [],
  );
  return [...sendsIn(checkpoint), ...waiting].filter((name) => !(name in run.graph.graph.nodes));
}

const list = (names: readonly string[]): string =>
  names.length === 0 ? 'nothing' : names.join(', ');
