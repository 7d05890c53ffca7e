/**
 * Writes and erases the saver's rows inside a fenced transaction: the caller holds the thread lock and has checked the
 * fence (P4). `pos` grows over all namespaces of (thread, epoch), so that "later" means the same in each of them.
 */
import type { Claim } from './port.js';
import type { FlushRows } from './saver/port.js';
import { placeOf } from './turn-row.js';
import { run, type SqlValue, type Tx } from './tx.js';

interface Target {
  readonly table: string;
  readonly key: readonly string[];
  readonly rest: readonly string[];
}

const scope = ['tenant', 'thread_id', 'epoch'];
const checkpoints: Target = {
  table: 'et_checkpoints',
  key: [...scope, 'ns', 'checkpoint_id'],
  rest: ['seq', 'parent_id', 'pos', 'body', 'metadata'],
};
const deltas: Target = {
  table: 'et_deltas',
  key: [...scope, 'ns', 'channel', 'version'],
  rest: ['seq', 'base', 'keep', 'length', 'type', 'rest'],
};
const writes: Target = {
  table: 'et_writes',
  // A resume may write what the head holds already (same task, same idx): if it fails, the head's own write must stand.
  key: [...scope, 'ns', 'checkpoint_id', 'task_id', 'idx', 'seq'],
  rest: ['task_path', 'channel', 'type', 'value'],
};

/** Rows per statement: 64 rows of 12 values stay far below the limits of both databases, and the texts stay few. */
const rowsPerStatement = 64;

/** Upserts in call order: an attempt that re-runs a task writes its rows again. */
export function* writeRows(claim: Claim, rows: FlushRows): Tx<void> {
  const [tenant, threadId, epoch, seq] = placeOf(claim);
  const at = [tenant, threadId, epoch];
  yield* upsert(
    checkpoints,
    rows.checkpoints.map((r) => [
      ...[...at, r.ns, r.checkpointId],
      ...[seq, r.parentId, r.pos, r.body, r.metadata],
    ]),
  );
  yield* upsert(
    deltas,
    rows.deltas.map((r) => [
      ...[...at, r.ns, r.channel, r.version],
      ...[seq, r.base, r.keep, r.length, r.type, r.rest],
    ]),
  );
  yield* upsert(
    writes,
    rows.writes.map((r) => [
      ...[...at, r.ns, r.checkpointId, r.taskId, r.idx, seq],
      ...[r.taskPath, r.channel, r.type, r.value],
    ]),
  );
}

function* upsert(target: Target, rows: readonly (readonly SqlValue[])[]): Tx<void> {
  const { table, key, rest } = target;
  const last = [
    ...new Map(rows.map((row) => [JSON.stringify(row.slice(0, key.length)), row])).values(),
  ];
  for (let from = 0; from < last.length; from += rowsPerStatement) {
    const chunk = last.slice(from, from + rowsPerStatement);
    const width = key.length + rest.length;
    const lists = chunk.map(
      (_, r) => `(${Array.from({ length: width }, (__, c) => `$${r * width + c + 1}`).join(', ')})`,
    );
    yield* run(
      `INSERT INTO ${table} (${[...key, ...rest].join(', ')}) VALUES ${lists.join(', ')}
       ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${rest.map((c) => `${c} = excluded.${c}`).join(', ')}`,
      ...chunk.flat(),
    );
  }
}

type Place = Pick<Claim, 'thread' | 'epoch' | 'seq'>;

/** `failed` and plain `cancelled` leave nothing (P5). A failed turn is rare: it scans its thread's rows instead of costing an index. */
export function* eraseTurnRows(turn: Place): Tx<void> {
  for (const { table } of [checkpoints, deltas, writes]) {
    yield* run(
      `DELETE FROM ${table} WHERE tenant = $1 AND thread_id = $2 AND epoch = $3 AND seq = $4`,
      ...placeOf(turn),
    );
  }
}

/**
 * Keeps the turn up to a finished root superstep (P6): checkpoints behind it go, in all namespaces, and the writes of
 * the superstep that was under way. Deltas without a checkpoint are never read; they go with the thread.
 */
export function* eraseAfterStep(
  turn: Place,
  kept: { readonly checkpointId: string; readonly pos: number },
): Tx<void> {
  yield* run(
    `DELETE FROM et_writes WHERE tenant = $1 AND thread_id = $2 AND epoch = $3 AND seq = $4
       AND (checkpoint_id = $6 OR EXISTS (SELECT 1 FROM et_checkpoints c WHERE c.tenant = $1 AND c.thread_id = $2
         AND c.epoch = $3 AND c.ns = et_writes.ns AND c.checkpoint_id = et_writes.checkpoint_id AND c.pos > $5))`,
    ...placeOf(turn),
    kept.pos,
    kept.checkpointId,
  );
  yield* run(
    `DELETE FROM et_checkpoints WHERE tenant = $1 AND thread_id = $2 AND epoch = $3 AND seq = $4 AND pos > $5`,
    ...placeOf(turn),
    kept.pos,
  );
}
