/** How a model fills in the form: it proposes, the schema decides, the form is complete only when a person has confirmed. */
import { ToolMessage, type AIMessage } from '@langchain/core/messages';
import { z } from 'zod';
import {
  fieldNames,
  intakeFields,
  isOptional,
  missingFrom,
  takenFrom,
  type Filled,
} from './fields.js';

const recordSchema = z.object(
  Object.fromEntries(
    fieldNames.map((name) => [
      name,
      z
        .string()
        .optional()
        .describe(intakeFields.shape[name].description ?? name),
    ]),
  ),
);

/** As `bindTools` takes them. They are run by the graph itself, since they change its state. */
export const formTools = [
  {
    name: 'record_fields',
    description:
      'Records what the person has said about the form. Give only what they said themselves, in their words.',
    schema: recordSchema,
  },
  {
    name: 'confirm_form',
    description:
      'Completes the form. Only after the person has seen all fields and has said that they are right.',
    schema: z.object({}),
  },
];

export interface Recorded {
  readonly fields: Filled;
  readonly is_completed: boolean;
}

type ToolCall = NonNullable<AIMessage['tool_calls']>[number];

/** Runs the calls in order, each on what the one before left. */
export async function runFormTools(
  calls: readonly ToolCall[],
  state: Recorded,
): Promise<Recorded & { readonly messages: readonly ToolMessage[] }> {
  let now = state;
  const messages: ToolMessage[] = [];
  for (const call of calls) {
    const { said, ...after } = await runTool(call, now);
    now = after;
    messages.push(new ToolMessage({ content: said, name: call.name, tool_call_id: call.id ?? '' }));
  }
  return { ...now, messages };
}

type Ran = Recorded & { readonly said: string };

async function runTool({ name, args }: ToolCall, state: Recorded): Promise<Ran> {
  switch (name) {
    case 'record_fields':
      return await record(args, state);
    case 'confirm_form': {
      const missing = missingFrom(state.fields);
      if (missing.length > 0) return { ...state, said: `Refused: ${missing.join(', ')} missing.` };
      return { ...state, is_completed: true, said: 'The form is complete.' };
    }
    default:
      return { ...state, said: `There is no tool "${name}".` };
  }
}

async function record(args: Readonly<Record<string, unknown>>, state: Recorded): Promise<Ran> {
  const given = Object.entries(args).filter(
    ([, value]) => value !== undefined && value !== null && value !== '',
  );
  const { taken, refused } = await takenFrom(given);
  const names = Object.keys(taken);
  const fields = { ...state.fields, ...taken };
  const said = [
    names.length === 0 ? 'Nothing recorded.' : `Recorded: ${names.join(', ')}.`,
    ...refused.map((reason) => `Refused: ${reason}.`),
    formStatus(fields),
  ].join('\n');
  return { fields, is_completed: names.length === 0 && state.is_completed, said };
}

/** What a model is told of the form. */
export function formStatus(fields: Filled): string {
  const open = fieldNames.filter((name) => fields[name] === undefined);
  const list = open.map((name) => `${name}${isOptional(name) ? ' (optional)' : ''}`).join(', ');
  return `Filled: ${JSON.stringify(fields)}. Open: ${list || 'nothing'}.`;
}
