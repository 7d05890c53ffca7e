/**
 * From a turn's row to what clients see of it. Pure: the same row gives the same bytes, in a JSON answer, in the SSE event
 * `done` and in every replay (P9), since columns come as stored text and fields in one order.
 */
import type { FailureCode } from '../contracts/failure.js';
import type {
  AcceptedReply,
  FieldWritten,
  TranscriptMessage,
  TurnReply,
} from '../contracts/http.schema.js';
import type { SettledStatus } from '../contracts/protocol.js';
import type { TurnRecord } from '../storage/port.js';
import { Problem } from './problem.js';

/** A reply's JSON around its two long parts: the text of `response`, and the stored JSON of the turn's messages. */
export interface ReplyFrame {
  readonly head: string;
  readonly middle: string;
  readonly tail: string;
}

/** A turn without output has no messages: nothing stands between `middle` and `tail`. */
export function replyFrame(turn: TurnRecord, hasOutput: boolean): ReplyFrame {
  const output = hasOutput ? `${opened(valuesOf(turn))}"messages":` : 'null';
  return {
    head: `${opened(standing(turn))}"response":"`,
    middle: `","output":${output}`,
    tail: `${hasOutput ? '}' : ''}${behind(ends(turn))}`,
  };
}

/** Which turn it is, and where it stands in its thread. */
const standing = (turn: TurnRecord) => ({
  thread_id: turn.thread.threadId,
  turn_id: turn.turnId,
  seq: turn.seq,
  epoch: turn.epoch,
  version: turn.version ?? turn.baseVersion ?? 0,
  ...(turn.baseVersion === null ? {} : { base_version: turn.baseVersion }),
  status: turn.status,
});

/** What stands behind the output, where there is any. */
function ends(turn: TurnRecord): Pick<TurnReply, 'interrupts' | 'usage' | 'error'> {
  const interrupts = parsed(turn.interruptsJson) as TurnReply['interrupts'];
  const usage = parsed(turn.usageJson) as TurnReply['usage'];
  return {
    ...(interrupts === undefined || interrupts.length === 0 ? {} : { interrupts }),
    ...(usage === undefined ? {} : { usage }),
    ...memoryUpdated(turn),
    ...(turn.failure === null
      ? {}
      : { error: { code: turn.failure.code, message: turn.failure.message } }),
  };
}

/** The channels beside the messages. One of the name `messages` that is no transcript is not shown. */
function valuesOf(turn: TurnRecord): object {
  const { messages: _, ...values } = (parsed(turn.valuesJson) ?? {}) as Record<string, unknown>;
  return values;
}

/** An object's JSON that more members follow. */
function opened(members: object): string {
  const json = JSON.stringify(members);
  return json === '{}' ? '{' : `${json.slice(0, -1)},`;
}

/** An object's end, with these members behind those before. */
function behind(members: object): string {
  const json = JSON.stringify(members);
  return json === '{}' ? '}' : `,${json.slice(1)}`;
}

/** The bytes of a reply. Never holds a line break, so that it is one SSE data line. */
export function replyJson(turn: TurnRecord): string {
  const hasOutput = turn.messagesJson !== null || turn.valuesJson !== null;
  const { head, middle, tail } = replyFrame(turn, hasOutput);
  const messages = hasOutput ? (turn.messagesJson ?? '[]') : '';
  return `${head}${inJson(turn.response)}${middle}${messages}${tail}`;
}

/** Text as it stands between the quotes of a JSON string. */
export const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);

/** What a 202 says: enough to ask again. */
export const acceptedReply = (turn: TurnRecord): AcceptedReply => ({
  thread_id: turn.thread.threadId,
  turn_id: turn.turnId,
  seq: turn.seq,
  epoch: turn.epoch,
  status: turn.status,
});

export const turnLocation = ({ thread, turnId }: TurnRecord): string =>
  `/v1/threads/${thread.threadId}/turns/${turnId}`;

/** A settled turn as its waiter must be told: a reply, or a problem. */
export type Verdict =
  { readonly kind: 'reply' } | { readonly kind: 'problem'; readonly problem: Problem };

/** What a settled turn answers to those who wait for it; undefined while it is not settled. */
export function verdictOf(turn: TurnRecord): Verdict | undefined {
  switch (turn.status) {
    case 'pending':
    case 'running':
      return undefined;
    case 'committed':
    case 'interrupted':
      return { kind: 'reply' };
    case 'failed':
    case 'cancelled':
    case 'aborted':
      return { kind: 'problem', problem: problemOf(turn, turn.status) };
  }
}

function problemOf(
  turn: TurnRecord,
  status: Exclude<SettledStatus, 'committed' | 'interrupted'>,
): Problem {
  const ids = { thread_id: turn.thread.threadId, turn_id: turn.turnId };
  switch (status) {
    case 'cancelled':
      return new Problem('turn_cancelled', 'The turn was cancelled.', ids);
    case 'aborted':
      return new Problem('thread_deleted', 'The thread was deleted.', ids);
    case 'failed': {
      const code = turn.failure?.code;
      const message = turn.failure?.message ?? 'The turn failed.';
      return code !== undefined && isOwnProblem(code)
        ? new Problem(code, message, ids)
        : new Problem('turn_failed', message, { ...ids, ...(code && { failure: code }) });
    }
  }
}

/** Failures that the client could have known: they are no fault of the graph, and have a code of their own. */
const ownProblems = [
  'resume_stale',
  'base_changed',
  'invalid_field',
  'unknown_field',
  'invalid_input',
  'unknown_node',
  'invalid_update',
  'thread_interrupted',
] as const satisfies readonly FailureCode[];
type OwnProblem = (typeof ownProblems)[number];
const isOwnProblem = (code: FailureCode): code is OwnProblem =>
  (ownProblems as readonly FailureCode[]).includes(code);

/** The answer to a write of a field: the fields that its own turn has left (F3). */
export function fieldWrittenJson(turn: TurnRecord): string {
  const { thread_id, turn_id, seq, epoch, version, status } = standing(turn);
  const values = (parsed(turn.valuesJson) ?? {}) as Pick<FieldWritten, 'fields'>;
  const reply = { thread_id, turn_id, seq, epoch, version, status, fields: values.fields };
  return JSON.stringify(reply satisfies FieldWritten);
}

/** All that the assistant said in the turn, in order: what a viewer has been shown when nothing got lost. */
export const spokenText = (turn: TurnRecord): string =>
  ((parsed(turn.messagesJson) ?? []) as readonly TranscriptMessage[])
    .filter((message) => message.role === 'assistant')
    .map((message) => message.content)
    .join('');

/** A channel of this name says whether the turn wrote memory. */
function memoryUpdated({ valuesJson }: TurnRecord): Pick<TurnReply, 'memory_updated'> {
  if (valuesJson?.includes('"memory_updated":') !== true) return {};
  const { memory_updated: updated } = parsed(valuesJson) as Record<string, unknown>;
  return typeof updated === 'boolean' ? { memory_updated: updated } : {};
}

/** Columns hold JSON that the settling transaction wrote. */
const parsed = (json: string | null): unknown => (json === null ? undefined : JSON.parse(json));
