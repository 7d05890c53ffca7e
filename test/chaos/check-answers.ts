/** What clients were told, against the rows: nothing answered is lost, changed, doubled or out of order. */
import type { Indexed } from './indexed.js';
import { isSettled, type Op, type StoredTurn, type Violation } from './history.js';

export function* checkAnswers(history: Indexed): Iterable<Violation> {
  yield* checkCodes(history.ops);
  yield* checkRows(history);
  yield* checkBytes(history.ops);
  yield* checkFinality(history);
  yield* checkRealTime(history.ops);
  yield* checkReplays(history.ops);
}

export const said = (op: Op): string =>
  `${op.client} ${op.kind} ${op.thread}${op.key === undefined ? '' : ` key ${op.key}`} at ${Math.round(op.startMs)} ms: ${op.status}${op.code === undefined ? '' : ` ${op.code}`}`;

/** Refusals that a client must expect while processes die and others delete and cancel. */
const expected: Readonly<Record<Op['kind'], readonly string[]>> = {
  turn: [
    ...['turn_cancelled', 'turn_in_progress', 'resume_stale', 'base_changed', 'thread_deleted'],
    ...['turn_failed', 'rate_limited', 'unavailable'],
  ],
  conflict: ['idempotency_key_reused', 'rate_limited', 'unavailable'],
  replay: [],
  cancel: ['turn_settled', 'thread_deleted', 'not_found', 'unavailable'],
  delete: ['not_found', 'unavailable'],
  show: ['thread_deleted', 'not_found', 'unavailable'],
  messages: ['not_found', 'unavailable'],
  state: ['not_found', 'unavailable'],
  join: [
    'thread_deleted',
    'not_found',
    'unavailable',
    'turn_cancelled',
    'turn_failed',
    'resume_stale',
    'base_changed',
  ],
};

/** A process that was frozen or is overloaded may say of any request that it did not arrive in time: nothing of it was done. */
const isLate = ({ status, code }: Op): boolean => status === 408 && code === 'request_timeout';

function* checkCodes(ops: readonly Op[]): Iterable<Violation> {
  for (const op of ops) {
    if (op.kind === 'conflict' && op.result === 'ok') {
      yield { kind: 'key-conflict', detail: `${said(op)}: another body was taken` };
    }
    if (op.result === 'fail' && !isLate(op) && !expected[op.kind].includes(op.code ?? '')) {
      yield { kind: 'unexpected-answer', detail: said(op) };
    }
  }
}

/** Every turn that was named in an answer exists, where the answer said; a reply equals its committed row. */
function* checkRows({ ops, turnById, store }: Indexed): Iterable<Violation> {
  const threads = new Map(store.threads.map((row) => [row.thread, row]));
  for (const op of ops) {
    if (op.turnId === undefined) continue;
    const row = turnById.get(op.turnId);
    if (row === undefined) {
      yield { kind: 'lost', detail: `${said(op)}: turn ${op.turnId} is not in the store` };
      continue;
    }
    if (
      (op.seq !== undefined && op.seq !== row.seq) ||
      (op.epoch !== undefined && op.epoch !== row.epoch)
    ) {
      yield { kind: 'reply-differs', detail: `${said(op)}: said seq ${op.seq}, is ${row.seq}` };
    }
    if (op.body === undefined || !isReply(op)) continue;
    const thread = threads.get(row.thread);
    const erased = thread?.epoch !== row.epoch;
    yield* checkReply(op, row, erased);
  }
}

const isReply = (op: Op): boolean =>
  op.result === 'ok' &&
  (op.kind !== 'show' || (op.turnStatus !== undefined && isSettled(op.turnStatus)));

function* checkReply(op: Op, row: StoredTurn, erased: boolean): Iterable<Violation> {
  const reply = JSON.parse(op.body ?? '{}') as { status?: string; response?: string };
  // A look at a turn, and its cancel, tell of any end; all other replies promise a commit.
  const tells = op.kind === 'show' || op.kind === 'cancel';
  const replies = tells ? isSettled(row.status) : isCommitted(row);
  if (!replies || reply.status !== row.status) {
    yield {
      kind: 'reply-without-commit',
      detail: `${said(op)} told ${reply.status}, the row is ${row.status}`,
    };
    return;
  }
  if (erased) return;
  if (reply.response !== row.response || (row.version !== null && op.version !== row.version)) {
    yield {
      kind: 'reply-differs',
      detail: `${said(op)}: "${reply.response}" v${op.version}, the row has "${row.response}" v${row.version}`,
    };
  }
}

const isCommitted = (row: StoredTurn): boolean =>
  row.status === 'committed' || row.status === 'interrupted';

/** The same turn gives the same bytes for ever, whoever asks and however. */
function* checkBytes(ops: readonly Op[]): Iterable<Violation> {
  const bytes = new Map<string, string>();
  for (const op of ops) {
    if (op.turnId === undefined || op.body === undefined || !isReply(op)) continue;
    const before = bytes.get(op.turnId);
    if (before !== undefined && before !== op.body) {
      yield { kind: 'bytes-differ', detail: `${said(op)}: ${op.body} was ${before}` };
    }
    bytes.set(op.turnId, op.body);
  }
}

/** Statuses seen over time. A turn of a deleted epoch reads as aborted. */
function* checkFinality({ ops, turnById, store }: Indexed): Iterable<Violation> {
  const epochs = new Map(store.threads.map(({ thread, epoch }) => [thread, epoch]));
  const isDead = (turnId: string): boolean => {
    const row = turnById.get(turnId);
    return row !== undefined && epochs.get(row.thread) !== row.epoch;
  };
  const seen = new Map<string, { readonly status: string; readonly at: number }>();
  const byEnd = [...ops].sort((a, b) => a.endMs - b.endMs);
  for (const op of byEnd) {
    const status = op.turnStatus;
    if (op.turnId === undefined || status === undefined) continue;
    if (status === 'aborted' && isDead(op.turnId)) continue;
    const settled = seen.get(op.turnId);
    if (settled !== undefined && settled.at < op.startMs && settled.status !== status) {
      yield { kind: 'not-final', detail: `${said(op)} saw ${status} after ${settled.status}` };
    }
    if (isSettled(status)) seen.set(op.turnId, { status, at: op.endMs });
  }
  for (const [turnId, { status }] of seen) {
    const row = turnById.get(turnId);
    if (row !== undefined && row.status !== status) {
      yield { kind: 'not-final', detail: `${turnId} was ${status} and is ${row.status}` };
    }
  }
}

interface Sent {
  startMs: number;
  /** When the first answer that places the turn came, and the place. */
  placed: { readonly endMs: number; readonly epoch: number; readonly seq: number } | undefined;
  what: string;
}

/** A turn answered before another one was sent precedes it. */
function* checkRealTime(ops: readonly Op[]): Iterable<Violation> {
  for (const sent of sentByThread(ops).values()) {
    const byEnd = sent
      .flatMap(({ placed, what }) => (placed === undefined ? [] : [{ ...placed, what }]))
      .sort((a, b) => a.endMs - b.endMs);
    let at = 0;
    let highest: (typeof byEnd)[number] | undefined;
    for (const next of [...sent].sort((a, b) => a.startMs - b.startMs)) {
      for (; at < byEnd.length; at += 1) {
        const ended = byEnd[at];
        if (ended === undefined || ended.endMs >= next.startMs) break;
        if (highest === undefined || isBefore(highest, ended)) highest = ended;
      }
      if (next.placed !== undefined && highest !== undefined && !isBefore(highest, next.placed)) {
        yield {
          kind: 'real-time',
          detail: `${next.what} is at ${next.placed.epoch}.${next.placed.seq}, but was sent after ${highest.what} at ${highest.epoch}.${highest.seq} was answered`,
        };
      }
    }
  }
}

interface Place {
  readonly epoch: number;
  readonly seq: number;
}
const isBefore = (a: Place, b: Place): boolean =>
  a.epoch < b.epoch || (a.epoch === b.epoch && a.seq < b.seq);

/** One entry per key and turn: retries belong to the first sending; a key of a dead epoch opens a turn of its own. */
function sentByThread(ops: readonly Op[]): Map<string, Sent[]> {
  const threads = new Map<string, Map<string, Sent>>();
  const lastPlaced = new Map<string, string>();
  for (const op of [...ops].sort((a, b) => a.startMs - b.startMs)) {
    if (op.kind !== 'turn' || op.key === undefined) continue;
    const sent = threads.get(op.thread) ?? new Map<string, Sent>();
    threads.set(op.thread, sent);
    const known = lastPlaced.get(`${op.thread}/${op.key}`);
    const another = op.turnId !== undefined && known !== undefined && known !== op.turnId;
    const name = another ? `${op.key}/${op.turnId}` : op.key;
    const entry = sent.get(name) ?? { startMs: op.startMs, placed: undefined, what: said(op) };
    sent.set(name, entry);
    if (op.turnId !== undefined) lastPlaced.set(`${op.thread}/${op.key}`, op.turnId);
    if (op.seq === undefined || op.epoch === undefined || another) continue;
    if (entry.placed === undefined || op.endMs < entry.placed.endMs) {
      entry.placed = { endMs: op.endMs, epoch: op.epoch, seq: op.seq };
    }
  }
  return new Map([...threads].map(([thread, sent]) => [thread, [...sent.values()]]));
}

/** A settled turn's key replays: the reply, marked as a replay, and no model call. */
function* checkReplays(ops: readonly Op[]): Iterable<Violation> {
  for (const op of ops) {
    if (op.kind !== 'replay') continue;
    if (op.result !== 'ok' || op.replayed !== true) {
      yield { kind: 'no-replay', detail: said(op) };
    }
    if ((op.modelCalls ?? 0) > 0) {
      yield { kind: 'replay-paid', detail: `${said(op)} cost ${op.modelCalls} model calls` };
    }
  }
}
