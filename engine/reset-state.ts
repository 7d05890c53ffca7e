/**
 * The checkpoint of an earlier version again, as a new one (F6). Neither the newest head nor the graph's nodes are asked, so it
 * works where the graph cannot load what the thread has become.
 */
import { baseValues } from './base-values.js';
import { deltaValues, snapshots } from './delta-channels.js';
import { closed, putHead, type EditStop, type StateEdit } from './put-head.js';
import { outputOf } from './interrupted.js';
import { turnOutput } from './output.js';
import { ownGraph } from './own-graph.js';
import { successorsOf } from './successors.js';

/**
 * Takes the attempt's first channel version, which is above those of all turns left behind: the next turn's are higher,
 * and no row of theirs is taken for one of its own. No graph has a channel of this name, so nothing is triggered.
 */
const resetMark = '__everthread_reset__';

export async function resetState(given: StateEdit): Promise<EditStop> {
  const run = await ownGraph(given);
  const { graph, identity, waits } = run;
  const rebuilt = await deltaValues(run);
  // A question stays open, and with it the tool calls behind it.
  const answered = waits === undefined ? await closed(run) : {};
  const channels = { ...snapshots(run, rebuilt), ...answered };
  const checkpoint = await putHead(run, channels, { runId: identity.turnId, mark: resetMark });
  const state = outputOf(graph.graph, { ...checkpoint.channel_values, ...rebuilt });
  const output = turnOutput(state, await baseValues(run), identity.turnId);
  const next = waits === undefined ? [] : successorsOf(graph.graph)(checkpoint);
  if (waits === undefined || next.length === 0) return { kind: 'finished', output };
  // LangGraph makes a question's id from the checkpoint that it was asked under: the ids are gone, the questions are not.
  const interrupts = waits.map(({ value }) => ({ value }));
  return { kind: 'interrupted', output, interrupts, next: [...new Set(next)] };
}
