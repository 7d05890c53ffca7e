/** Whether an agent goes in circles, read from its messages: a restarted worker sees the same (M8). */
import { createHash } from 'node:crypto';
import {
  answeredCallOf,
  callsOf,
  speakerOf,
  textOf,
  type MessageLike,
} from '../context/message.js';

/** This often in a row, the same call with the same result is no progress. */
export const repeatsAllowed = 3;
/** Circles of up to this many calls (A-B-A-B-A-B) are noticed too. */
const longestCircle = 3;

/** One finished call of the running turn. */
export interface Finished {
  readonly tool: string;
  /** Equal for the same tool, arguments and result. */
  readonly print: string;
}

/** The finished calls since the last question, in order. */
export function finishedCalls(messages: readonly MessageLike[]): readonly Finished[] {
  const start = messages.findLastIndex((m) => speakerOf(m) === 'user') + 1;
  const turn = messages.slice(start);
  const results = new Map<string, string>();
  for (const m of turn) if (speakerOf(m) === 'tool') results.set(answeredCallOf(m), textOf(m));
  return turn.flatMap((m) =>
    callsOf(m).flatMap(({ id, name, args }) => {
      const result = results.get(id);
      return result === undefined
        ? []
        : [{ tool: name, print: printOf([name, args, stable(result)]) }];
    }),
  );
}

/** The tools that are called in circles; undefined while there is progress. */
export function circleIn(calls: readonly Finished[]): readonly string[] | undefined {
  for (let length = 1; length <= longestCircle; length++) {
    const tail = calls.slice(-length * repeatsAllowed);
    if (tail.length < length * repeatsAllowed) continue;
    if (tail.every(({ print }, i) => print === tail[i % length]?.print))
      return tail.slice(0, length).map(({ tool }) => tool);
  }
  return undefined;
}

/** Clocks, durations and request ids change though nothing has happened. */
const stable = (result: string): string =>
  result
    .slice(0, 20_000)
    .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?/g, '<time>')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, '<id>')
    .replace(/\b\d+(\.\d+)? ?m?s\b/g, '<duration>');

const printOf = (value: unknown): string =>
  createHash('sha256').update(canonical(value)).digest('base64').slice(0, 16);

/** JSON with sorted keys and one form of each letter. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value === 'object' && value !== null)
    return `{${Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([k, v]) => `${JSON.stringify(k)}:${canonical(v)}`)
      .join(',')}}`;
  return typeof value === 'string' ? JSON.stringify(value.normalize('NFC')) : String(value);
}
