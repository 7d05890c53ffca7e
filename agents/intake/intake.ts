import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, SystemMessage, type BaseMessage } from '@langchain/core/messages';
import { Annotation, END, START, StateGraph } from '@langchain/langgraph';
import { z } from 'zod';
import { callModel } from '../../llm/call-model.js';
import { AgentState, newest } from '../../memory/agent-state.js';
import { fieldNames, intakeFields, type FieldName, type Filled } from './fields.js';
import { advance, type Asking } from './form.js';
import { formStatus, formTools, runFormTools } from './tools.js';

export interface IntakeDeps {
  /** Reads messages and words the replies; without it rules do both. */
  readonly model?: BaseChatModel | undefined;
}

const fieldsSchema = z.strictObject(intakeFields.shape).partial();
const fieldNameSchema = z.enum(fieldNames as readonly [FieldName, ...FieldName[]]);

const IntakeState = Annotation.Root({
  messages: AgentState.spec.messages,
  is_completed: AgentState.spec.is_completed,
  /** The typed fields of the thread, which are written over HTTP too. */
  fields: newest<Filled>('fields', fieldsSchema as z.ZodType<Filled>, {}),
  asking: newest<Asking>(
    'asking',
    z.union([fieldNameSchema, z.literal('confirm'), z.null()]),
    null,
  ),
  skipped: newest<readonly FieldName[]>('skipped', z.array(fieldNameSchema), []),
});
type State = typeof IntakeState.State;

/** Six rounds of tools and the answer; a form needs two. */
const recursionLimit = 13;

/** The form-filling agent: asks for what is missing, takes what fits, and is complete when a person has confirmed. */
export function createIntake({ model }: IntakeDeps) {
  return model === undefined ? byRules() : byModel(model);
}

const byRules = () =>
  new StateGraph(IntakeState)
    .addNode('form', async ({ messages, fields, asking, skipped, is_completed }) => {
      const form = { fields, asking, skipped, is_completed };
      const { reply, ...after } = await advance(form, lastWords(messages));
      return { ...after, messages: [new AIMessage(reply)] };
    })
    .addEdge(START, 'form')
    .addEdge('form', END)
    .compile({ name: 'intake' });

function byModel(model: BaseChatModel) {
  if (model.bindTools === undefined) throw new Error('intake needs a model with tools.');
  const bound = model.bindTools(formTools);
  return new StateGraph(IntakeState)
    .addNode('model', async ({ messages, fields }, config) => ({
      messages: [await callModel(bound, [instructions(fields), ...recent(messages)], config)],
    }))
    .addNode('form', async ({ messages, fields, is_completed }) => {
      const calls = (messages.at(-1) as AIMessage | undefined)?.tool_calls ?? [];
      const { messages: answers, ...after } = await runFormTools(calls, { fields, is_completed });
      return { ...after, messages: [...answers] };
    })
    .addEdge(START, 'model')
    .addConditionalEdges('model', formOrEnd, ['form', END])
    .addEdge('form', 'model')
    .compile({ name: 'intake' })
    .withConfig({ recursionLimit });
}

const formOrEnd = ({ messages }: State): 'form' | typeof END =>
  ((messages.at(-1) as AIMessage | undefined)?.tool_calls ?? []).length > 0 ? 'form' : END;

const instructions = (fields: Filled): SystemMessage =>
  new SystemMessage(
    `You help a person fill in a form, in their language. Ask for one open field at a time; an optional one may be left out. Record what they say with record_fields and tell them why a value is refused. When all is there, read it back; when they say that it is right, call confirm_form. Never invent a value.\n${formStatus(fields)}`,
  );

/** What the form holds is in the instructions; of the talk a model needs the last few exchanges. */
const recentExchanges = 8;

/** Whole exchanges, so that no tool call is cut from its result. */
function recent(messages: readonly BaseMessage[]): readonly BaseMessage[] {
  const begins = messages.flatMap((message, i) => (message.type === 'human' ? [i] : []));
  return messages.slice(begins.at(-recentExchanges) ?? 0);
}

const lastWords = (messages: readonly BaseMessage[]): string =>
  messages.findLast(({ type }) => type === 'human')?.text ?? '';
