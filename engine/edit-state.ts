/**
 * Changes a thread's state without running its graph: the head's checkpoint again, with another value of one channel. No
 * node runs, no reducer and no trigger: what would run next is what would have run next before (F1).
 */
import { checkField, fieldsChannel, missingField, type FieldCheck } from '../contracts/fields.js';
import type { EditInput } from '../contracts/turn-input.js';
import { turnOutput } from './output.js';
import { toJson } from './plain-json.js';
import type { GraphRun, Stop, TurnOutput } from './port.js';
import { closings } from './start-input.js';

export interface StateEdit extends Pick<
  GraphRun,
  'graph' | 'attempt' | 'identity' | 'closeDangling'
> {
  readonly edit: EditInput;
}

type Values = Readonly<Record<string, unknown>>;

/** @throws what the saver or the project's own code throws */
export async function editState(
  run: StateEdit,
): Promise<Extract<Stop, { kind: 'finished' | 'failed' }>> {
  const { graph, attempt, edit } = run;
  if (graph.fields === undefined) {
    const message = `The graph "${graph.name}" declares no fields.`;
    return { kind: 'failed', failure: { code: 'unknown_field', message } };
  }
  const missing = missingField(graph.fields, edit.name);
  if (missing !== undefined) return { kind: 'failed', failure: missing };
  const fields = fieldsOf(await attempt.baseValues());
  switch (edit.kind) {
    case 'set_field': {
      // The gateway may know another build's schema, or none: what counts is the one of the graph (F2).
      const check: FieldCheck = await checkField(graph.fields, edit.name, edit.value);
      if (check.kind === 'refused') return { kind: 'failed', failure: check.failure };
      const changed = { ...fields, [edit.name]: toJson(check.value) };
      return { kind: 'finished', output: await putChannels(run, { [fieldsChannel]: changed }) };
    }
    case 'delete_field': {
      const { [edit.name]: _gone, ...rest } = fields;
      return { kind: 'finished', output: await putChannels(run, { [fieldsChannel]: rest }) };
    }
  }
}

/** A graph that keeps something else in its channel has no fields yet. */
function fieldsOf(values: Values | undefined): Values {
  const held = values?.[fieldsChannel];
  return typeof held === 'object' && held !== null && !Array.isArray(held) ? (held as Values) : {};
}

/** LangGraph's step of the checkpoint before a thread's first one, less one. */
const beforeInput = -2;

async function putChannels(run: StateEdit, edited: Values): Promise<TurnOutput> {
  const { attempt, identity, graph } = run;
  const { saver } = attempt;
  const lib = graph.modules.checkpoint;
  const root = { thread_id: identity.threadId, checkpoint_ns: '' };
  const head = await saver.getTuple({ configurable: root });
  const base = head?.checkpoint ?? lib.emptyCheckpoint();
  const channels = { ...edited, ...(await closed(run, base.channel_values)) };
  const known = Object.values(base.channel_versions).map(Number).filter(Number.isFinite);
  const newest = Math.max(0, ...known);
  const version = saver.getNextVersion(newest);
  const versions = Object.fromEntries(Object.keys(channels).map((name) => [name, version]));
  const step = (head?.metadata?.step ?? beforeInput) + 1;
  await saver.put(
    {
      configurable: { ...root, ...(head && { checkpoint_id: head.checkpoint.id }) },
      metadata: { run_id: identity.turnId },
    },
    {
      ...base,
      id: lib.uuid6(step),
      ts: new Date().toISOString(),
      channel_values: { ...base.channel_values, ...channels },
      channel_versions: { ...base.channel_versions, ...versions },
    },
    { parents: {}, ...head?.metadata, source: 'update', step },
    versions,
  );
  return turnOutput(channels, await attempt.baseValues(), identity.turnId);
}

/** Like any plain turn behind one that was cut off, an edit answers its open tool calls (P6, P7). */
async function closed(run: StateEdit, { messages }: Values): Promise<Values> {
  const answers = await closings(run);
  return answers.length === 0 || !Array.isArray(messages)
    ? {}
    : { messages: [...(messages as unknown[]), ...answers] };
}
