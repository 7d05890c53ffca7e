/**
 * From a turn's row to what clients see of it. Pure: the same row gives the same bytes, in a JSON answer, in the SSE event
 * `done` and in every replay (P9), since columns come as stored text and fields in one order.
 */
import type { AcceptedReply, TranscriptMessage, TurnReply } from '../contracts/http.schema.js';
import type { SettledStatus } from '../contracts/protocol.js';
import type { TurnRecord } from '../storage/port.js';
import { Problem } from './problem.js';

export function turnReply(turn: TurnRecord): TurnReply {
  const interrupts = parsed(turn.interruptsJson) as TurnReply['interrupts'];
  const usage = parsed(turn.usageJson) as TurnReply['usage'];
  return {
    thread_id: turn.thread.threadId,
    turn_id: turn.turnId,
    seq: turn.seq,
    epoch: turn.epoch,
    version: turn.version ?? turn.baseVersion ?? 0,
    ...(turn.baseVersion === null ? {} : { base_version: turn.baseVersion }),
    status: turn.status,
    response: turn.response,
    output: outputOf(turn),
    ...(interrupts === undefined || interrupts.length === 0 ? {} : { interrupts }),
    ...(usage === undefined ? {} : { usage }),
    ...(turn.failure === null
      ? {}
      : { error: { code: turn.failure.code, message: turn.failure.message } }),
  };
}

/** The bytes of a reply. Never holds a line break, so that it is one SSE data line. */
export const replyJson = (turn: TurnRecord): string => JSON.stringify(turnReply(turn));

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
      return code === 'resume_stale' || code === 'base_changed'
        ? new Problem(code, message, ids)
        : new Problem('turn_failed', message, { ...ids, ...(code && { failure: code }) });
    }
  }
}

/** All that the assistant said in the turn, in order: what a viewer has been shown when nothing got lost. */
export const spokenText = (turn: TurnRecord): string =>
  ((parsed(turn.messagesJson) ?? []) as readonly TranscriptMessage[])
    .filter((message) => message.role === 'assistant')
    .map((message) => message.content)
    .join('');

function outputOf(turn: TurnRecord): TurnReply['output'] {
  if (turn.valuesJson === null && turn.messagesJson === null) return null;
  const values = (parsed(turn.valuesJson) ?? {}) as Record<string, TurnReply['output']>;
  return { ...values, messages: (parsed(turn.messagesJson) ?? []) as TurnReply['output'] };
}

/** Columns hold JSON that the settling transaction wrote. */
const parsed = (json: string | null): unknown => (json === null ? undefined : JSON.parse(json));
