/** P9 accept, with the checks of P7: one body, under the thread lock. A refusal has written nothing. */
import { reachCrashPoint } from '../contracts/crash-point.js';
import { isEdit, isFieldEdit, startsAt } from '../contracts/turn-input.js';
import { cancelUnsettled } from './cancel.js';
import { listening } from './listening.js';
import type { Accepted, AcceptTurn, TurnRecord } from './port.js';
import { canonicalJson } from './stored-json.js';
import {
  hasUnsettled,
  insertThread,
  lockThread,
  reviveThread,
  type ThreadRow,
} from './thread-row.js';
import { recordOf, turnBySeq, turnColumns, type TurnRow } from './turn-row.js';
import { turnOfVersion } from './version-row.js';
import { first, run, type Tx } from './tx.js';

type Refusal = Exclude<Accepted, { readonly kind: 'accepted' | 'attached' }>;
/** What the checks need of a thread; one that is new or deleted is empty. */
type Base = Pick<
  ThreadRow,
  | 'epoch'
  | 'version'
  | 'next_seq'
  | 'settled_seq'
  | 'graph'
  | 'user_id'
  | 'head_status'
  | 'head_seq'
  | 'interrupts'
>;

/** Accepts a turn (P9). Idempotent by key: a known key attaches or replays and changes nothing. */
export function* acceptTurn(input: AcceptTurn): Tx<Accepted> {
  const row = yield* lockThread(input.thread); // P4: thread first
  if (row?.deleted === 0 && input.mine?.(row.metadata) === false) return { kind: 'not_found' };
  const base = row === undefined || row.deleted === 1 ? emptyThread(row) : row;
  if (input.key !== undefined) {
    const known = yield* findKey(input, input.key, base.epoch);
    if (known !== undefined) return known;
  }
  const isGone = row === undefined || row.deleted === 1;
  if (isGone && isEdit(input.input)) return { kind: 'not_found' };
  const refusal = yield* refusalOf(input, base);
  if (refusal !== undefined) return refusal;
  const { multitask } = input;
  const cancels = (multitask === 'interrupt' || multitask === 'rollback') && hasUnsettled(base);
  const cancelled = cancels ? yield* cancelUnsettled(input.thread, base, multitask) : [];
  const graph = base.graph ?? input.graph ?? input.defaultGraph;
  const life = { graph, metadata: input.metadataJson ?? '{}', userId: userOf(input) };
  if (row === undefined) {
    const made = yield* insertThread(input.thread, life, 2);
    if (!made) return yield* acceptTurn(input); // somebody else's first turn came between: it is found now
  } else {
    if (row.deleted === 1) yield* reviveThread(input.thread, life);
    yield* takeSeq(input, graph);
  }
  const turn = yield* insertTurn(input, base, graph);
  if (input.key !== undefined) yield* putKey(input, input.key, turn);
  reachCrashPoint('in-accept', input.thread.threadId);
  return { kind: 'accepted', turn, cancelled };
}

const emptyThread = (row: ThreadRow | undefined): Base => ({
  epoch: row?.epoch ?? 1,
  version: 0,
  next_seq: row?.next_seq ?? 1,
  settled_seq: row?.settled_seq ?? 0,
  graph: null,
  user_id: null,
  head_status: null,
  head_seq: null,
  interrupts: null,
});

/** A key whose turn failed opens a new turn for the same body; every other known key answers for itself. */
function* findKey(input: AcceptTurn, key: string, epoch: number): Tx<Accepted | undefined> {
  const known = yield* first<{ seq: number; digest: string }>(
    `SELECT seq, digest FROM et_keys
     WHERE tenant = $1 AND thread_id = $2 AND epoch = $3 AND idempotency_key = $4`,
    input.thread.tenant,
    input.thread.threadId,
    epoch,
    key,
  );
  if (known === undefined) return undefined;
  if (known.digest !== input.digest) return { kind: 'key_reused' };
  const turn = yield* turnBySeq(input.thread, epoch, known.seq);
  if (turn === undefined || turn.status === 'failed') return undefined;
  return { kind: 'attached', turn: recordOf(turn, false) };
}

/** `reject` and caps before any side effect (P9), then what a resume (P7) and `if_version` demand of the head. */
function* refusalOf(input: AcceptTurn, base: Base): Tx<Refusal | undefined> {
  const busy = hasUnsettled(base);
  if (input.graph !== undefined && base.graph !== null && input.graph !== base.graph) {
    return { kind: 'graph_mismatch', bound: base.graph };
  }
  const user = userOf(input);
  if (user !== null && base.user_id !== null && user !== base.user_id) {
    return { kind: 'user_mismatch' };
  }
  if (busy && input.multitask === 'reject') return { kind: 'turn_in_progress' };
  if (input.input.kind === 'resume' && !(yield* takesAnswer(input, base))) {
    return { kind: 'resume_stale' };
  }
  if (isFieldEdit(input.input) && !busy && base.head_status === 'interrupted') {
    return { kind: 'thread_interrupted' };
  }
  // While turns wait, the base may still reach the wanted version; the claim looks again.
  const wanted = input.ifVersion;
  if (wanted !== undefined && (busy ? base.version > wanted : base.version !== wanted)) {
    return { kind: 'base_changed', version: base.version };
  }
  const from = startsAt(input.input);
  if (from !== undefined && !busy && from > base.version) {
    return { kind: 'base_changed', version: base.version };
  }
  if (
    busy &&
    input.multitask === 'enqueue' &&
    (yield* countUnsettled(input, base)) >= input.maxPending
  ) {
    return { kind: 'queue_full' };
  }
  return undefined;
}

/** P7. What an earlier version asked does not change: a fork may wait for its place among other turns. */
function* takesAnswer(input: AcceptTurn, base: Base): Tx<boolean> {
  const version = startsAt(input.input);
  if (version === undefined) return !hasUnsettled(base) && base.head_status === 'interrupted';
  const found = yield* turnOfVersion(input.thread, base, version);
  return found?.status === 'interrupted';
}

/** The difference of two columns bounds the number; only near the cap the rows are counted (a waiting one may be cancelled). */
function* countUnsettled(input: AcceptTurn, base: Base): Tx<number> {
  const atMost = base.next_seq - 1 - base.settled_seq;
  if (atMost < input.maxPending) return atMost;
  const row = yield* first<{ unsettled: number }>(
    `SELECT count(*) AS unsettled FROM et_turns
     WHERE tenant = $1 AND thread_id = $2 AND epoch = $3 AND seq > $4 AND settled_at_ms IS NULL`,
    input.thread.tenant,
    input.thread.threadId,
    base.epoch,
    base.settled_seq,
  );
  return row?.unsettled ?? 0;
}

/** P1: seq comes from the locked thread row and never restarts. The caller has read it under the lock. */
const takeSeq = (input: AcceptTurn, graph: string): Tx<number> =>
  run(
    `UPDATE et_threads SET next_seq = next_seq + 1, graph = coalesce(graph, $3), user_id = coalesce(user_id, $4),
       updated_at_ms = {now}
     WHERE tenant = $1 AND thread_id = $2`,
    ...[input.thread.tenant, input.thread.threadId, graph, userOf(input)],
  );

/** M19: the first turn that names a user gives the thread to him, for the life of its epoch. */
const userOf = ({ input }: AcceptTurn): string | null =>
  isEdit(input) ? null : (input.userId ?? null);

function* insertTurn(input: AcceptTurn, base: Base, graph: string): Tx<TurnRecord> {
  const resumes = input.input.kind === 'resume' && startsAt(input.input) === undefined;
  const row = yield* first<TurnRow>(
    `INSERT INTO et_turns (tenant, thread_id, epoch, seq, turn_id, status, graph, stream, if_version, resume_version,
       resume_interrupts, fence, released, step, has_rows, has_draft, tries, losses, spent_ms, alive_at_ms,
       accepted_at_ms, input, response, from_version)
     VALUES ($1, $2, $3, $4, $5, 'pending', $6, $7, $8, $9, $10, 0, 0, 0, 0, 0, 0, 0, 0, {now}, {now}, $11, '', $12)
     RETURNING ${turnColumns}`,
    ...[input.thread.tenant, input.thread.threadId, base.epoch, base.next_seq, input.turnId, graph],
    ...[
      listening(input.stream, input.modes),
      input.ifVersion ?? null,
      resumes ? base.version : null,
    ],
    resumes ? interruptIds(base.interrupts) : null,
    canonicalJson(input.input),
    startsAt(input.input) ?? null,
  );
  if (row === undefined) throw new Error('INSERT gave no row');
  return recordOf(row, false);
}

/** P7: what the resume answers. */
const interruptIds = (interrupts: string | null): string =>
  canonicalJson((JSON.parse(interrupts ?? '[]') as { id?: string }[]).map(({ id }) => id ?? null));

const putKey = (input: AcceptTurn, key: string, turn: TurnRecord): Tx<number> =>
  run(
    `INSERT INTO et_keys (tenant, thread_id, epoch, idempotency_key, seq, digest) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (tenant, thread_id, epoch, idempotency_key) DO UPDATE SET seq = excluded.seq`,
    input.thread.tenant,
    input.thread.threadId,
    turn.epoch,
    key,
    turn.seq,
    input.digest,
  );
