/**
 * The wire contract of the gateway (DESIGN 10), as zod schemas: bodies are strict, replies are what `/openapi.json` shows.
 */
import { z } from 'zod';
import { callFields, commandSchema } from './call.schema.js';
import { streamModes } from './stream-modes.js';

const clean = (text: string): boolean => text.isWellFormed() && !text.includes('\u0000');

/** Without `.` and `..`: clients and proxies take them out of a path, so that nobody could read or delete such a thread. */
const idInPath = () =>
  z
    .string()
    .regex(
      /^(?!\.{1,2}$)[A-Za-z0-9._:-]{1,128}$/,
      'must be 1-128 characters of A-Z a-z 0-9 . _ : -, and not . or ..',
    );
export const threadIdSchema = idInPath();
export const userIdSchema = idInPath();
export const graphNameSchema = z.string().min(1).max(128);
export const keySchema = z
  .string()
  .regex(/^[\x21-\x7e]{1,128}$/, 'must be 1-128 visible ASCII characters');
/** How long it may be is a setting of the gateway, which looks at it after the form. */
export const messageSchema = z
  .string()
  .min(1)
  .refine((t) => t.trim() !== '', 'must not be blank')
  .refine(clean, 'must be well-formed Unicode without NUL');
export const multitaskSchema = z.enum(['enqueue', 'reject', 'interrupt', 'rollback']);
const metadataSchema = z.record(z.string(), z.json());

export const createThreadSchema = z.strictObject({
  thread_id: threadIdSchema.optional(),
  graph: graphNameSchema.optional(),
  metadata: metadataSchema.optional(),
});

const streamModeSchema = z.enum(streamModes);
/** What a stream shows besides the text, as LangGraph names it: an event per mode, `updates|<namespace>` from subgraphs. */
export const streamOptions = {
  stream_mode: z.union([streamModeSchema, z.array(streamModeSchema).min(1).max(6)]).optional(),
  stream_subgraphs: z.boolean().optional(),
};

const turnOptions = {
  ...streamOptions,
  /** Whose long-term memory the turn uses; the thread's first one stays (M19). */
  user_id: userIdSchema.optional(),
  graph: graphNameSchema.optional(),
  multitask: multitaskSchema.optional(),
  if_version: z.int().min(0).optional(),
  ...callFields,
};

/**
 * `{message}`, `{input}`, `{resume}` or `{command}`, exactly one. `{"resume": null}` counts as given: it passes a static
 * breakpoint.
 */
export const turnRequestSchema = z
  .strictObject({
    message: messageSchema.optional(),
    input: z.json().optional(),
    resume: z.json().optional(),
    command: commandSchema.optional(),
    /** Goes on from the state that this version left, in the place of the newest; a resume answers what it asked. */
    from_version: z.int().min(1).optional(),
    ...turnOptions,
  })
  .refine(
    (b) =>
      ['message', 'input', 'resume', 'command'].filter((k) => Object.hasOwn(b, k)).length === 1,
    'give exactly one of message, input, resume, command',
  );
export type TurnRequest = z.infer<typeof turnRequestSchema>;

export const chatRequestSchema = z.strictObject({
  message: messageSchema,
  thread_id: threadIdSchema.optional(),
  ...turnOptions,
});
export const invokeRequestSchema = z.strictObject({ user_input: messageSchema });

/** `If-Match` and `if_version` ask the same. */
export const putFieldSchema = z.strictObject({
  value: z.json(),
  if_version: z.int().min(0).optional(),
});

/** What LangGraph's `updateState` takes; null for the values copies the newest checkpoint. */
export const updateStateSchema = z.strictObject({
  values: z.json(),
  as_node: z.string().min(1).max(256).optional(),
  if_version: z.int().min(0).optional(),
});
/** `version` is a committed one; its state becomes a version of its own. */
export const resetThreadSchema = z.strictObject({
  version: z.int().min(1),
  if_version: z.int().min(0).optional(),
});

export const transcriptMessageSchema = z.looseObject({
  id: z.string(),
  role: z.enum(['user', 'assistant', 'tool', 'system']),
  content: z.string(),
  /** Parts that are not text, as the provider gave them. */
  parts: z.array(z.json()).optional(),
  tool_calls: z.array(z.json()).optional(),
  tool_call_id: z.string().optional(),
  name: z.string().optional(),
});
export type TranscriptMessage = z.infer<typeof transcriptMessageSchema>;

export const interruptSchema = z.object({ id: z.string().optional(), value: z.json() });
export type TurnInterrupt = z.infer<typeof interruptSchema>;

export const usageSchema = z.object({
  input_tokens: z.int(),
  output_tokens: z.int(),
  total_tokens: z.int(),
});
export type Usage = z.infer<typeof usageSchema>;

export const turnStatusSchema = z.enum([
  'pending',
  'running',
  'committed',
  'interrupted',
  'failed',
  'cancelled',
  'aborted',
]);

/** What a settled turn answers, and what `GET …/turns/{turn}` shows of any turn. */
export const turnReplySchema = z.object({
  thread_id: z.string(),
  turn_id: z.string(),
  seq: z.int(),
  epoch: z.int(),
  /** Committed turns of the epoch after this one; the base version while the turn is not settled. */
  version: z.int(),
  base_version: z.int().optional(),
  status: turnStatusSchema,
  /** Text of the last assistant message of the turn; empty when it has none. */
  response: z.string(),
  /** This turn's `messages` and the other channels whole (DESIGN 15.8); null until the turn is settled. */
  output: z.json(),
  interrupts: z.array(interruptSchema).optional(),
  usage: usageSchema.optional(),
  /** Whether the turn wrote its user's long-term memory; absent for graphs that have none. */
  memory_updated: z.boolean().optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
});
export type TurnReply = z.infer<typeof turnReplySchema>;

/** What a 202 says: the turn is accepted and goes on by itself. */
export const acceptedReplySchema = turnReplySchema.pick({
  thread_id: true,
  turn_id: true,
  seq: true,
  epoch: true,
  status: true,
});
export type AcceptedReply = z.infer<typeof acceptedReplySchema>;

export const invokeReplySchema = z.object({
  status: z.enum(['success', 'interrupted']),
  thread_id: z.string(),
  agent_response: z.string(),
});
export type InvokeReply = z.infer<typeof invokeReplySchema>;

export const threadReplySchema = z.object({
  thread_id: z.string(),
  epoch: z.int(),
  version: z.int(),
  status: z.enum(['idle', 'busy', 'interrupted']),
  graph: z.string().nullable(),
  metadata: z.unknown(),
  interrupts: z.array(interruptSchema).optional(),
  /** Nodes that would run next. */
  next: z.array(z.string()),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  /** The turn that runs, or is next to run; absent in a thread that is not busy. */
  turn: z
    .object({
      turn_id: z.string(),
      seq: z.int(),
      status: z.enum(['pending', 'running']),
      accepted_at: z.iso.datetime(),
      /** How often a worker has taken it. */
      attempts: z.int(),
      /** The task queue that it runs on, when no worker asks that one for turns; not in lists. */
      unserved_queue: z.string().optional(),
    })
    .optional(),
  /** Of the worker that took the last turn; absent when it had none. */
  build_id: z.string().optional(),
});
export type ThreadReply = z.infer<typeof threadReplySchema>;

export const threadPageSchema = z.object({
  threads: z.array(threadReplySchema),
  /** The `after` of the next page; null at the end. */
  next_cursor: z.string().nullable(),
});
export type ThreadPageReply = z.infer<typeof threadPageSchema>;

/** `woken` is false when the thread has nothing to run. */
export const wakeReplySchema = z.object({
  thread_id: z.string(),
  woken: z.boolean(),
  turn_id: z.string().optional(),
});
export type WakeReply = z.infer<typeof wakeReplySchema>;

export const messagePageSchema = z.object({
  messages: z.array(transcriptMessageSchema.extend({ turn_id: z.string(), seq: z.int() })),
  /** The `after` of the next page; null at the end. */
  next_cursor: z.string().nullable(),
});
export type MessagePageReply = z.infer<typeof messagePageSchema>;

export const stateReplySchema = z.object({
  thread_id: z.string(),
  epoch: z.int(),
  version: z.int(),
  checkpoint_id: z.string().nullable(),
  values: z.record(z.string(), z.unknown()),
  next: z.array(z.string()),
  interrupts: z.array(interruptSchema),
});
export type StateReply = z.infer<typeof stateReplySchema>;

/** The fields that are set, as committed. */
const fieldValues = { fields: z.record(z.string(), z.json()) };
export const fieldsReplySchema = z.object({
  thread_id: z.string(),
  epoch: z.int(),
  version: z.int(),
  ...fieldValues,
  /** JSON Schema of all fields, where the gateway can tell. */
  schema: z.json().optional(),
});
export type FieldsReply = z.infer<typeof fieldsReplySchema>;

/** What a write of a field answers: the fields right after it, whatever has come since. */
export const fieldWrittenSchema = turnReplySchema
  .pick({ thread_id: true, turn_id: true, seq: true, epoch: true, version: true, status: true })
  .extend(fieldValues);
export type FieldWritten = z.infer<typeof fieldWrittenSchema>;

export const historyReplySchema = z.object({
  history: z.array(
    z.object({
      version: z.int(),
      turn_id: z.string(),
      seq: z.int(),
      status: turnStatusSchema,
      checkpoint_id: z.string().nullable(),
      settled_at: z.iso.datetime(),
      /** What a fork or a reset went on from. */
      from_version: z.int().optional(),
      /** The newest state does not stand on it: a fork or a reset has left it behind. */
      left_behind: z.literal(true).optional(),
    }),
  ),
  /** The `before` of the next page; null at the end. */
  next_before: z.int().nullable(),
});
export type HistoryReply = z.infer<typeof historyReplySchema>;

export const problemSchema = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  code: z.string(),
  detail: z.string().optional(),
  instance: z.string().optional(),
  thread_id: z.string().optional(),
  turn_id: z.string().optional(),
  /** Failure code of a failed turn. */
  failure: z.string().optional(),
  /** The thread's version, where the request asked for another one. */
  version: z.int().optional(),
  /** What `/readyz` waits for. */
  not_ready: z.array(z.string()).optional(),
  errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
});
export type Problem = z.infer<typeof problemSchema>;
