/**
 * Runs whose histories are to be erased (P8). They wait in et_runs under a tenant that no thread can have: `!` before its own.
 * There they are one range of the primary key, which costs nothing while it is empty; rows of living epochs are never scanned.
 */
import type { ThreadKey } from '../contracts/protocol.js';
import type { ErasureStore, OverRun } from './erasure-port.js';
import { query, run, type Driver, type Tx } from './tx.js';

/** Sorts before every character of a tenant (P1). */
const mark = '!';
/** The waiting rows: from `!` up to the next character. */
export const isOverRun = (alias: string): string =>
  `${alias}.tenant >= '${mark}' AND ${alias}.tenant < '"'`;

export const overTenant = (tenant: string): string => `${mark}${tenant}`;

/** A run that is being closed is closed within this; a sweeper that died meanwhile is missed by then. */
const takenMs = 5_000;
/** The next epoch's run is asked again this late: it ends when its thread hibernates, or never. */
const postponedMs = 60_000;

/** The epoch is over: its runs wait for the sweeper from now on. The caller holds the thread lock. */
export function* handOverRuns(thread: ThreadKey, livingEpoch: number): Tx<void> {
  yield* run(
    `INSERT INTO et_runs (tenant, thread_id, epoch, run_id, seen_at_ms)
     SELECT '${mark}' || tenant, thread_id, epoch, run_id, {now} FROM et_runs
     WHERE tenant = $1 AND thread_id = $2 AND epoch <> $3
     ON CONFLICT (tenant, thread_id, epoch, run_id) DO NOTHING`,
    ...[thread.tenant, thread.threadId, livingEpoch],
  );
  yield* run(
    `DELETE FROM et_runs WHERE tenant = $1 AND thread_id = $2 AND epoch <> $3`,
    ...[thread.tenant, thread.threadId, livingEpoch],
  );
}

export const erasureOn = (driver: Driver): Omit<ErasureStore, 'expire'> => ({
  takeOverRuns: (limit) => driver.write(() => takeOverRuns(limit)),
  forgetRun: async (over) => {
    await driver.write(() => run(`DELETE FROM et_runs WHERE ${ofRun}`, ...placeOf(over)));
  },
  postponeRun: async (over) => {
    await driver.write(() =>
      run(
        `UPDATE et_runs SET seen_at_ms = {now} + $5 WHERE ${ofRun}`,
        ...placeOf(over),
        postponedMs,
      ),
    );
  },
});

interface OverRow {
  readonly tenant: string;
  readonly thread_id: string;
  readonly epoch: number;
  readonly run_id: string;
  readonly deleted: number;
  readonly next_seq: number;
}

function* takeOverRuns(limit: number): Tx<readonly OverRun[]> {
  const rows = yield* query<OverRow>(
    `SELECT h.tenant, h.thread_id, h.deleted, h.next_seq, t.epoch, t.run_id
     FROM et_runs t JOIN et_threads h ON h.tenant = substr(t.tenant, 2) AND h.thread_id = t.thread_id
     WHERE ${isOverRun('t')} AND t.seen_at_ms <= {now} LIMIT $1 {for update of t} {skip locked}`,
    limit,
  );
  const taken = rows.map((row) => ({
    thread: { tenant: row.tenant, threadId: row.thread_id },
    epoch: row.epoch,
    runId: row.run_id,
    deleted: row.deleted === 1,
    nextSeq: row.next_seq,
  }));
  for (const over of taken) {
    yield* run(
      `UPDATE et_runs SET seen_at_ms = {now} + $5 WHERE ${ofRun}`,
      ...placeOf(over),
      takenMs,
    );
  }
  return taken;
}

const ofRun = 'tenant = $1 AND thread_id = $2 AND epoch = $3 AND run_id = $4';
const placeOf = ({ thread, epoch, runId }: OverRun) =>
  [overTenant(thread.tenant), thread.threadId, epoch, runId] as const;
