/** State of the support graph: the agent's channels, and what support knows of a question. Wrong shapes are refused (M14). */
import { Annotation } from '@langchain/langgraph';
import { z } from 'zod';
import { AgentState, newest } from '../../memory/agent-state.js';
import type { Decision } from './decide.js';

const passageSchema = z.strictObject({
  id: z.int().min(0),
  source: z.string(),
  heading: z.string(),
  area: z.string(),
  text: z.string(),
});
const sourceSchema = passageSchema.omit({ text: true, area: true });
/** Where an answer comes from. */
export type Source = z.output<typeof sourceSchema>;

const askedSchema = z.strictObject({ offered: z.array(z.string()).max(50) }).nullable();

const language = z.enum(['en', 'es', 'ko', 'zh']);
const terms = z.array(z.string()).readonly();
const decisionSchema: z.ZodType<Decision | null> = z.union([
  z.null(),
  z.strictObject({ kind: z.literal('clarify'), language }),
  z.strictObject({
    kind: z.literal('say'),
    what: z.enum(['welcome', 'goodbye', 'areas']),
    language,
  }),
  z.strictObject({
    kind: z.literal('look_up'),
    language,
    for: z.literal('area'),
    area: z.string(),
  }),
  z.strictObject({
    kind: z.literal('look_up'),
    language,
    for: z.literal('more'),
    terms,
    area: z.string(),
  }),
  z.strictObject({
    kind: z.literal('look_up'),
    ...{ language, for: z.literal('question'), terms, english: terms },
    englishShare: z.number().min(0).max(1),
    ...{ area: z.string().nullable(), mostlyArea: z.boolean() },
  }),
]);

/** What a reply tells of itself beside its text. */
const told = {
  /** Id of an area; `unclear` when it was asked back, `other` when the documents do not know or need not be asked. */
  category: newest<string>('category', z.string().min(1).max(300), 'unclear'),
  clarification_needed: newest<boolean>('clarification_needed', z.boolean(), false),
  sources: newest<readonly Source[]>('sources', z.array(sourceSchema).readonly(), []),
  /** Whether the turn wrote something to its user's long-term memory. */
  memory_updated: newest<boolean>('memory_updated', z.boolean(), false),
};

export const SupportState = Annotation.Root({
  ...AgentState.spec,
  ...told,
  /** What was asked back and not yet answered; remembered from turn to turn. */
  asked_area: newest('asked_area', askedSchema, null),
  decision: newest<Decision | null>('decision', decisionSchema, null),
  /** What the answer is made from; empty between turns. */
  passages: newest('passages', z.array(passageSchema).readonly(), []),
});
export type SupportState = typeof SupportState.State;

/** What a caller may set; the rest is the graph's own. */
export const SupportInput = Annotation.Root({ messages: AgentState.spec.messages });
/** What a turn gives out. */
export const SupportOutput = Annotation.Root({ messages: AgentState.spec.messages, ...told });
