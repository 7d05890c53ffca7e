/**
 * The state of an agent, every channel with an explicit reducer that refuses a wrong shape: at the edge, where an input goes
 * through the same reducers, and between nodes. The thread's id is in the run's config, not here.
 */
import type { BaseMessage } from '@langchain/core/messages';
import { Annotation, messagesStateReducer } from '@langchain/langgraph';
import { z } from 'zod';
import {
  mergeSummary,
  noSummary,
  summaryBufferSchema,
  type SummaryBuffer,
} from './context/summary.js';

/** A node or an input gave a channel something that it cannot hold. */
export class StateShapeError extends Error {
  override readonly name = 'StateShapeError';
  readonly code = 'state_shape';
  readonly channel: string;

  constructor(channel: string, problem: string) {
    super(`State channel "${channel}": ${problem}`);
    this.channel = channel;
  }
}

/** Steps that a turn may take unless a caller says otherwise. */
export const defaultMaxSteps = 15;
/** A scratchpad is for the running task; older notes give way. */
const mostNotes = 50;

const noteSchema = z.string().max(4_000);
const userIdSchema = z.string().min(1).max(200);

function checked<T>(channel: string, schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new StateShapeError(channel, issue?.message ?? 'wrong shape');
}

/** A channel that holds the newest value, and refuses one that the schema does not take. */
export const newest = <T>(channel: string, schema: z.ZodType<T>, initial: T) =>
  Annotation<T>({ reducer: (_, next) => checked(channel, schema, next), default: () => initial });

/** State of an agent, for `new StateGraph(AgentState)`; spread `AgentState.spec` to add channels of your own. */
export const AgentState = Annotation.Root({
  messages: Annotation<BaseMessage[], Parameters<typeof messagesStateReducer>[1]>({
    reducer: (current, next) => {
      try {
        return messagesStateReducer(current, next);
      } catch (error) {
        throw new StateShapeError(
          'messages',
          error instanceof Error ? error.message : 'not messages',
        );
      }
    },
    default: () => [],
  }),
  /** Whose memory is used. Set once: a thread does not change hands. */
  user_id: Annotation<string>({
    reducer: (current, next) => {
      const user = checked('user_id', userIdSchema, next);
      if (current !== '' && current !== user)
        throw new StateShapeError('user_id', 'is set already and cannot change');
      return user;
    },
    default: () => '',
  }),
  current_step: newest<number>('current_step', z.int().min(0), 0),
  max_steps: newest<number>('max_steps', z.int().min(1).max(1_000), defaultMaxSteps),
  /** Notes of the running task; `null` clears them. */
  scratchpad: Annotation<readonly string[], string | readonly string[] | null>({
    reducer: (current, next) =>
      next === null
        ? []
        : [
            ...current,
            ...checked('scratchpad', z.array(noteSchema), typeof next === 'string' ? [next] : next),
          ].slice(-mostNotes),
    default: () => [],
  }),
  is_completed: newest<boolean>('is_completed', z.boolean(), false),
  /** What stands for messages that the model is no longer shown. */
  summary: Annotation<SummaryBuffer>({
    reducer: (current, next) =>
      mergeSummary(current, checked('summary', summaryBufferSchema, next)),
    default: () => noSummary,
  }),
});
