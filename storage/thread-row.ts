/** The thread's row: what every writing transaction locks first (P4), and what follows from it. */
import type { ThreadKey, TurnStatus } from '../contracts/protocol.js';
import { seenBy, type AskedThread } from './asked-thread.js';
import type { Progress } from './port.js';
import { first, run, type Tx } from './tx.js';

export interface ThreadRow {
  readonly epoch: number;
  readonly deleted: number;
  readonly version: number;
  readonly next_seq: number;
  readonly settled_seq: number;
  readonly graph: string | null;
  readonly user_id: string | null;
  readonly metadata: string;
  readonly head_checkpoint: string | null;
  readonly head_seq: number | null;
  readonly head_status: TurnStatus | null;
  readonly interrupts: string | null;
  readonly next_nodes: string | null;
  readonly run_id: string | null;
  readonly created_at_ms: number;
  readonly updated_at_ms: number;
}

export const threadColumns = `epoch, deleted, version, next_seq, settled_seq, graph, user_id, metadata, head_checkpoint, head_seq,
  head_status, interrupts, next_nodes, run_id, created_at_ms, updated_at_ms`;

/** Locks the thread for a writing transaction; undefined when it never was. A deleted one still has its row. */
export const lockThread = (thread: AskedThread): Tx<ThreadRow | undefined> =>
  threadRow(thread, ' {for update}');

export const readThread = (thread: AskedThread): Tx<ThreadRow | undefined> => threadRow(thread, '');

function* threadRow(thread: AskedThread, lock: string): Tx<ThreadRow | undefined> {
  const row = yield* first<ThreadRow>(
    `SELECT ${threadColumns} FROM et_threads WHERE tenant = $1 AND thread_id = $2${lock}`,
    thread.tenant,
    thread.threadId,
  );
  return seenBy(thread, row);
}

/** The epoch is over: nothing of it is written or shown any more (P8). */
export const isOver = (row: ThreadRow | undefined, epoch: number): boolean =>
  row === undefined || row.deleted === 1 || row.epoch !== epoch;

/** An unsettled turn exists; the earliest is `settled_seq + 1`. */
export const hasUnsettled = (row: Pick<ThreadRow, 'settled_seq' | 'next_seq'>): boolean =>
  row.settled_seq < row.next_seq - 1;

/** P2: what the workflow learns after each transaction. A thread that never was has nothing to do. */
export const progressOf = (
  row: Pick<ThreadRow, 'settled_seq' | 'next_seq' | 'deleted'> | undefined,
): Progress =>
  row === undefined
    ? { settledThrough: 0, more: false, deleted: false }
    : { settledThrough: row.settled_seq, more: hasUnsettled(row), deleted: row.deleted === 1 };

/** A thread's first row, or a new life of a deleted one (P8): epoch and next seq go on. */
export interface NewLife {
  readonly graph: string | null;
  /** Whose it is; absent until a turn names him (M19). */
  readonly userId?: string | null;
  readonly metadata: string;
}

/** False when somebody else made the row meanwhile: begin again and find it. */
export function* insertThread(thread: ThreadKey, life: NewLife, nextSeq: number): Tx<boolean> {
  const changes = yield* run(
    `INSERT INTO et_threads (tenant, thread_id, epoch, deleted, version, next_seq, settled_seq, graph, metadata, user_id,
       swept_at_ms, created_at_ms, updated_at_ms)
     VALUES ($1, $2, 1, 0, 0, $3, 0, $4, $5, $6, 0, {now}, {now}) ON CONFLICT (tenant, thread_id) DO NOTHING`,
    ...[thread.tenant, thread.threadId, nextSeq, life.graph, life.metadata, life.userId ?? null],
  );
  return changes === 1;
}

/** Opens the epoch that a delete left waiting. */
export const reviveThread = (thread: ThreadKey, life: NewLife): Tx<number> =>
  run(
    `UPDATE et_threads SET deleted = 0, graph = $3, metadata = $4, user_id = $5, created_at_ms = {now}, updated_at_ms = {now}
     WHERE tenant = $1 AND thread_id = $2`,
    ...[thread.tenant, thread.threadId, life.graph, life.metadata, life.userId ?? null],
  );

/** The head that a turn leaves behind (P6, DESIGN 5). */
export interface NewHead {
  readonly version: number;
  readonly checkpointId: string;
  readonly seq: number;
  readonly status: TurnStatus;
  readonly interrupts: string | null;
  readonly nextNodes: string;
}

/** Earliest unsettled seq - 1, else next_seq - 1 (P2). Turns settle out of order only by a cancel of a waiting one. */
const settledThrough = `coalesce((SELECT min(u.seq) - 1 FROM et_turns u
    WHERE u.tenant = et_threads.tenant AND u.thread_id = et_threads.thread_id AND u.epoch = et_threads.epoch
      AND u.seq > et_threads.settled_seq AND u.settled_at_ms IS NULL), next_seq - 1)`;

/** After a turn has settled: moves `settled_seq`, and the head if the turn left a new one. */
export function* advanceThread(thread: ThreadKey, head: NewHead | null): Tx<Progress> {
  const setHead =
    head === null
      ? ''
      : `version = $3, head_checkpoint = $4, head_seq = $5, head_status = $6, interrupts = $7, next_nodes = $8,`;
  const values =
    head === null
      ? []
      : [head.version, head.checkpointId, head.seq, head.status, head.interrupts, head.nextNodes];
  const row = yield* first<ThreadRow>(
    `UPDATE et_threads SET ${setHead} settled_seq = ${settledThrough}, updated_at_ms = {now}
     WHERE tenant = $1 AND thread_id = $2 RETURNING settled_seq, next_seq, deleted`,
    thread.tenant,
    thread.threadId,
    ...values,
  );
  return progressOf(row);
}
