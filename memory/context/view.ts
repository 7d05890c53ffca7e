/**
 * The transcript as a model may be shown it: old outputs cut, every tool result behind its call, no system message inside.
 * Pure; indexes are those of the transcript.
 */
import {
  answeredCallOf,
  callsOf,
  speakerOf,
  textOf,
  withCalls,
  withText,
  type MessageLike,
} from './message.js';
import { isOldOutput, pruned } from './prune.js';

/** One message of the view. */
export interface Seen<M extends MessageLike> {
  /** Where it stands in the transcript. */
  readonly index: number;
  readonly message: M;
}

/** The messages of an exchange that belong together: a question, or a reply with the results of its tool calls. */
export type Step<M extends MessageLike> = readonly Seen<M>[];

/** What a user said and all that followed until the next time. */
export interface Exchange<M extends MessageLike> {
  readonly start: number;
  readonly steps: readonly Step<M>[];
}

/** The exchanges of the transcript from `from` on, which must be a border between two. */
export function exchangesOf<M extends MessageLike>(
  messages: readonly M[],
  from = 0,
): readonly Exchange<M>[] {
  const exchanges: { start: number; steps: Seen<M>[][] }[] = [];
  for (const step of stepsOf(messages, from)) {
    const first = step[0];
    if (first === undefined) continue;
    const current = exchanges.at(-1);
    if (current === undefined || speakerOf(first.message) === 'user')
      exchanges.push({ start: first.index, steps: [step] });
    else current.steps.push(step);
  }
  return exchanges;
}

function* stepsOf<M extends MessageLike>(
  messages: readonly M[],
  from: number,
): Generator<Seen<M>[]> {
  for (let index = from; index < messages.length; index++) {
    const message = messages[index];
    if (message === undefined) continue;
    switch (speakerOf(message)) {
      case 'user':
        yield [{ index, message }];
        break;
      case 'assistant':
        yield stepOfReply(messages, index, message);
        break;
      case 'tool': // Comes with its call; without one nobody asked for it, and providers refuse it.
      case 'system': // The system prompt is the graph's, not the history's.
        break;
    }
  }
}

/** A reply with the results of its calls. A call that nobody answered is taken out, unless answers may still come. */
function stepOfReply<M extends MessageLike>(
  messages: readonly M[],
  index: number,
  message: M,
): Seen<M>[] {
  const calls = callsOf(message);
  if (calls.length === 0) return [{ index, message }];
  const results = resultsAfter(messages, index);
  const answered = calls.filter((call) => results.has(call.id));
  const pending = answered.length < calls.length && isTail(messages, index);
  const distinct = answered.filter((call, i) => answered.findIndex((c) => c.id === call.id) === i);
  const kept =
    pending || distinct.length === calls.length ? message : withoutOpenCalls(message, distinct);
  return [{ index, message: kept }, ...distinct.flatMap((call) => results.get(call.id) ?? [])];
}

function withoutOpenCalls<M extends MessageLike>(
  message: M,
  answered: ReturnType<typeof callsOf>,
): M {
  const closed = withCalls(message, answered);
  return answered.length === 0 && textOf(closed) === ''
    ? withText(closed, '[a tool call that was never answered]')
    : closed;
}

/** The first result of each call, among the messages until the next reply or question. */
function resultsAfter<M extends MessageLike>(
  messages: readonly M[],
  index: number,
): ReadonlyMap<string, Seen<M>> {
  const results = new Map<string, Seen<M>>();
  for (let i = index + 1; i < messages.length; i++) {
    const message = messages[i];
    if (message === undefined) continue;
    const speaker = speakerOf(message);
    if (speaker === 'system') continue;
    if (speaker !== 'tool') break;
    const call = answeredCallOf(message);
    if (results.has(call)) continue;
    const shown = isOldOutput(message, i, messages.length) ? pruned(message) : message;
    results.set(call, { index: i, message: shown });
  }
  return results;
}

/** Whether nothing but results follows. */
function isTail(messages: readonly MessageLike[], index: number): boolean {
  for (let i = index + 1; i < messages.length; i++) {
    const message = messages[i];
    if (message !== undefined && speakerOf(message) !== 'tool') return false;
  }
  return true;
}
