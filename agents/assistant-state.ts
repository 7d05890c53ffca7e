/** The state of the assistant, and what of it a caller may set and sees. */
import { Annotation } from '@langchain/langgraph';
import { z } from 'zod';
import { AgentState, newest } from '../memory/agent-state.js';
import { nothingRecalled, recollectionSchema } from './user-memory.js';

/** Where the thread stood when summarising was due, and what came of it: at one length of the transcript it is tried once. */
const compactionSchema = z.strictObject({
  at: z.int().min(0),
  outcome: z.enum(['due', 'nothing', 'summarised', 'threw', 'empty', 'refused', 'timeout']),
});

const stepsSchema = z.int().min(1).max(1_000).nullable();

export const AssistantState = Annotation.Root({
  ...AgentState.spec,
  /** A lower limit than the configured one; null for none. */
  max_steps: newest<number | null>('max_steps', stepsSchema, null),
  compaction: newest('compaction', compactionSchema, { at: 0, outcome: 'nothing' }),
  recalled: newest('recalled', recollectionSchema, nothingRecalled),
  /** Whether this turn has written long-term memory. */
  memory_updated: newest<boolean>('memory_updated', z.boolean(), false),
});
export type State = typeof AssistantState.State;
export type Update = typeof AssistantState.Update;

const { messages, max_steps, scratchpad, memory_updated } = AssistantState.spec;
/** What a caller may set. The rest is the agent's own. */
export const AssistantInput = Annotation.Root({ messages, max_steps, scratchpad });
export const AssistantOutput = Annotation.Root({ messages, memory_updated });
