/** One HTTP request of a client, written down as an operation: times, outcome, and what the answer says. */
import { EventSourceParserStream } from 'eventsource-parser/stream';
import type { TurnStatus } from '../../contracts/protocol.js';
import type { Op, OpKind, SeenEvent } from './history.js';

/** The log of a run. Times are of this one process, so that their order is real. */
export class OpLog {
  readonly ops: Op[] = [];
  /** When the last reply came. */
  lastReplyMs: number | undefined;
  /** Called with the number of replies so far. */
  onReply: (count: number) => void = () => undefined;
  #replies = 0;

  add(op: Op): void {
    this.ops.push(op);
    if (op.kind !== 'turn' || op.status !== 200 || op.result !== 'ok') return;
    this.lastReplyMs = op.endMs;
    this.#replies += 1;
    this.onReply(this.#replies);
  }
}

export interface Asked {
  readonly kind: OpKind;
  readonly client: string;
  readonly thread: string;
  readonly key?: string;
  readonly text?: string;
  readonly turnId?: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  /** Called at each event of a stream; `leave` closes it. */
  readonly onEvent?: (event: SeenEvent) => 'stay' | 'leave';
  readonly final?: boolean;
}

/** A gateway that has not answered by then is given up, and the request is sent again. */
const patienceMs = 20_000;

export interface Answered extends Op {
  readonly json: Record<string, unknown>;
}

/** Sends it, and gives the operation to be logged. Never throws. */
export async function ask(asked: Asked): Promise<Answered> {
  const { kind, client, thread, key, text, turnId, final } = asked;
  const base = {
    ...{ kind, client, thread, startMs: performance.now() },
    ...(key !== undefined && { key }),
    ...(text !== undefined && { text }),
    ...(turnId !== undefined && { turnId }),
    ...(final === true && { final }),
  };
  const events: SeenEvent[] = [];
  const leave = new AbortController();
  const timer = setTimeout(() => leave.abort(), patienceMs);
  // An aborted body does not always end the pipes that read it.
  const left = new Promise<never>((_, fail) => {
    leave.signal.addEventListener('abort', () => fail(new Error('left')), { once: true });
  });
  left.catch(() => undefined);
  try {
    const response = await fetch(asked.url, {
      method: asked.method,
      headers: { 'content-type': 'application/json', ...asked.headers },
      ...(asked.body !== undefined && { body: JSON.stringify(asked.body) }),
      signal: leave.signal,
    });
    if (response.headers.get('content-type')?.startsWith('text/event-stream') === true) {
      const reading = readEvents(response, events, (event) => {
        timer.refresh();
        if (asked.onEvent?.(event) === 'leave') leave.abort();
      });
      await Promise.race([reading, left]).catch(() => undefined);
      return { ...base, ...fromEvents([...events]), endMs: performance.now() };
    }
    const raw = await Promise.race([response.text(), left]);
    const replayed = response.headers.get('idempotent-replayed') === 'true';
    const answer = fromAnswer(response.status, raw);
    return { ...base, ...answer, ...(replayed && { replayed }), endMs: performance.now() };
  } catch {
    const unknown = { result: 'unknown', status: 0, json: {} } as const;
    return { ...base, ...unknown, endMs: performance.now() };
  } finally {
    clearTimeout(timer);
  }
}

async function readEvents(
  response: Response,
  events: SeenEvent[],
  onEvent: (event: SeenEvent) => void,
): Promise<void> {
  if (response.body === null) return;
  const parsing = response.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream());
  for await (const { event, id, data } of parsing) {
    const seen = { event: event ?? 'message', data, ...(id !== undefined && { id }) };
    events.push(seen);
    onEvent(seen);
  }
}

type Outcome = Omit<Answered, 'kind' | 'client' | 'thread' | 'startMs' | 'endMs'>;

function fromAnswer(status: number, raw: string): Outcome {
  const json = parsed(raw);
  if (status === 204) return { result: 'ok', status, json };
  if (status >= 400) return { result: 'fail', status, json, ...problemOf(json) };
  return { result: 'ok', status, json, ...replyOf(json), ...(status === 200 && { body: raw }) };
}

/** A stream says what its last event says; one without an end has an unknown outcome. */
function fromEvents(events: readonly SeenEvent[]): Outcome {
  const last = events.at(-1);
  const begun = replyOf(parsed(events.find(({ event }) => event === 'accepted')?.data ?? '{}'));
  const { turnStatus: _, version: __, ...place } = begun;
  const json = parsed(last?.data ?? '{}');
  if (last?.event === 'done') {
    return { result: 'ok', status: 200, json, events, ...replyOf(json), body: last.data };
  }
  if (last?.event === 'error') {
    return { result: 'fail', status: 200, json, events, ...place, ...problemOf(json) };
  }
  return { result: 'unknown', status: 200, json: {}, events, ...place };
}

const statusOfCode: Readonly<Record<string, TurnStatus>> = {
  turn_cancelled: 'cancelled',
  thread_deleted: 'aborted',
  turn_failed: 'failed',
};

function problemOf(json: Record<string, unknown>) {
  const code = textIn(json, 'code') ?? 'no code';
  const failure = textIn(json, 'failure');
  // A 503 promises nothing: its turn may not exist.
  const turnId = code === 'unavailable' ? undefined : textIn(json, 'turn_id');
  const turnStatus = statusOfCode[code];
  return {
    code,
    ...(turnId !== undefined && { turnId }),
    ...(failure !== undefined && { failure }),
    ...(turnId !== undefined && turnStatus !== undefined && { turnStatus }),
  };
}

function replyOf(json: Record<string, unknown>) {
  const turnId = textIn(json, 'turn_id');
  const [seq, epoch] = [numberIn(json, 'seq'), numberIn(json, 'epoch')];
  const version = numberIn(json, 'version');
  const turnStatus = turnId === undefined ? undefined : (textIn(json, 'status') as TurnStatus);
  return {
    ...(turnId !== undefined && { turnId }),
    ...(seq !== undefined && { seq }),
    ...(epoch !== undefined && { epoch }),
    ...(version !== undefined && { version }),
    ...(turnStatus !== undefined && { turnStatus }),
  };
}

const textIn = (json: Record<string, unknown>, name: string): string | undefined =>
  typeof json[name] === 'string' ? json[name] : undefined;
const numberIn = (json: Record<string, unknown>, name: string): number | undefined =>
  typeof json[name] === 'number' ? json[name] : undefined;

function parsed(raw: string): Record<string, unknown> {
  try {
    return JSON.parse(raw) as Record<string, unknown>;
  } catch {
    return {};
  }
}
