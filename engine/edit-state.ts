/** Changes a thread's state without running its graph (F1, F5, F6). */
import { checkField, fieldsChannel, missingField, type FieldCheck } from '../contracts/fields.js';
import type { FieldEdit } from '../contracts/turn-input.js';
import { turnOutput } from './output.js';
import { toJson } from './plain-json.js';
import type { TurnOutput } from './port.js';
import { closed, putHead, type EditStop, type StateEdit } from './put-head.js';
import { resetState } from './reset-state.js';
import { updateState } from './update-state.js';

type Values = Readonly<Record<string, unknown>>;

/** @throws what the saver or the project's own code throws */
export async function editState(run: StateEdit): Promise<EditStop> {
  const { edit } = run;
  switch (edit.kind) {
    case 'set_field':
    case 'delete_field':
      return await editField(run, edit);
    case 'update_state':
      return await updateState(run, edit);
    case 'reset':
      return await resetState(run);
  }
}

/**
 * The head's checkpoint again, with another value of one channel. No node runs, no reducer and no trigger: what would run
 * next is what would have run next before.
 */
async function editField(run: StateEdit, edit: FieldEdit): Promise<EditStop> {
  const { graph, attempt } = run;
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

async function putChannels(run: StateEdit, edited: Values): Promise<TurnOutput> {
  const channels = { ...edited, ...(await closed(run)) };
  await putHead(run, channels, { runId: run.identity.turnId });
  return turnOutput(channels, await run.attempt.baseValues(), run.identity.turnId);
}
