/** What a turn leaves for its row, from the state it ended in (DESIGN 15.8). Pure. */
import type { TranscriptMessage } from '../contracts/http.schema.js';
import { canonicalJson } from './plain-json.js';
import type { TurnOutput } from './port.js';
import {
  isMessageLike,
  messageJson,
  textOf,
  transcriptMessage,
  usageOf,
  type MessageLike,
} from './transcript.js';

type Values = Readonly<Record<string, unknown>>;

/**
 * `state` is what the graph gives out: an object of its output channels, or the return value of an `entrypoint`. A return
 * value that is a message, or a list of them, is the turn's messages; any other stands in the values as `result`.
 */
export function turnOutput(state: unknown, base: Values | undefined, turnId: string): TurnOutput {
  const { messages, values } = split(state);
  const fresh = messages === undefined ? [] : turnMessages(baseMessages(base), messages);
  const shown = fresh.map((message, i) => transcriptMessage(message, `${turnId}-${i}`));
  const usage = usageOf(fresh);
  return {
    response: lastAnswer(shown) ?? (typeof values.result === 'string' ? textOf(values.result) : ''),
    messages: shown,
    valuesJson: canonicalJson(values, messageJson),
    ...(usage !== undefined && { usage }),
  };
}

const isTranscript = (value: unknown): value is readonly MessageLike[] =>
  Array.isArray(value) && value.every(isMessageLike);

function split(state: unknown): {
  readonly messages: readonly MessageLike[] | undefined;
  readonly values: Values;
} {
  if (isMessageLike(state)) return { messages: [state], values: {} };
  if (isTranscript(state) && state.length > 0) return { messages: state, values: {} };
  if (!isPlain(state))
    return { messages: undefined, values: state == null ? {} : { result: state } };
  const { messages, ...values } = state;
  if (isTranscript(messages)) return { messages, values };
  return { messages: undefined, values: state };
}

const isPlain = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An `entrypoint` keeps its last return value in `__end__`. */
export function baseMessages(base: Values | undefined): readonly MessageLike[] {
  const kept = base?.messages ?? base?.__end__;
  return isTranscript(kept) ? kept : isMessageLike(kept) ? [kept] : [];
}

/**
 * Messages that were not there before the turn, by id. Those without an id are told by place: what stands beyond the
 * prefix that both share.
 */
export function turnMessages(
  base: readonly MessageLike[],
  final: readonly MessageLike[],
): readonly MessageLike[] {
  let shared = 0;
  while (shared < base.length && shared < final.length && isSame(base[shared], final[shared])) {
    shared += 1;
  }
  if (shared === base.length) return final.slice(shared);
  const before = base.slice(shared);
  const ids = new Set(before.map(({ id }) => id).filter((id) => id != null && id !== ''));
  const objects = new Set(before);
  return final.slice(shared).filter((m) => !objects.has(m) && !(m.id != null && ids.has(m.id)));
}

/** The same object in one process; after a reload the same id, or without ids the same content. */
function isSame(a: MessageLike | undefined, b: MessageLike | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  if (a === b) return true;
  if (a.id != null || b.id != null) return a.id === b.id;
  return canonicalJson(transcriptMessage(a, '')) === canonicalJson(transcriptMessage(b, ''));
}

const lastAnswer = (messages: readonly TranscriptMessage[]): string | undefined =>
  messages.findLast(({ role }) => role === 'assistant')?.content;
