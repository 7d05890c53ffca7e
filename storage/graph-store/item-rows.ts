/** Items as rows. */
import { first, query, run, type Tx } from '../tx.js';
import { bytesOf } from '../memory/vector-rows.js';
import type { StoredItem, StoreOp, StoreTtl } from './port.js';
import { rangeOf } from './namespace.js';

interface ItemRow {
  readonly ns: string;
  readonly item_key: string;
  readonly value: string;
  readonly created_at_ms: number;
  readonly updated_at_ms: number;
}

const columns = 'ns, item_key, value, created_at_ms, updated_at_ms';
const atPlace = 'tenant = $1 AND ns = $2 AND item_key = $3';
/** An item whose time is over is gone, whether or not it has been swept. */
export const alive = '(expires_at_ms IS NULL OR expires_at_ms > {now})';

const itemOf = (row: ItemRow): StoredItem => ({
  ns: row.ns,
  key: row.item_key,
  valueJson: row.value,
  createdAtMs: row.created_at_ms,
  updatedAtMs: row.updated_at_ms,
});

export function* readItem(tenant: string, ns: string, key: string): Tx<StoredItem | null> {
  const row = yield* first<ItemRow>(
    `SELECT ${columns} FROM et_store_items WHERE ${atPlace} AND ${alive}`,
    ...[tenant, ns, key],
  );
  return row === undefined ? null : itemOf(row);
}

/** Items below a prefix, in the order in which their namespaces and they themselves were first written. */
export function* readItems(
  tenant: string,
  prefix: string,
  page?: { readonly limit: number; readonly offset: number },
): Tx<readonly StoredItem[]> {
  const range = rangeOf(prefix);
  const values = [tenant, ...(range ?? [])];
  const [limit, offset] = [`$${values.length + 1}`, `$${values.length + 2}`];
  const rows = yield* query<ItemRow>(
    `SELECT ${columns} FROM et_store_items
     WHERE tenant = $1 ${range === undefined ? '' : 'AND ns >= $2 AND ns < $3'} AND ${alive}
     ORDER BY ns_pos, pos, ns, item_key ${page === undefined ? '' : `LIMIT ${limit} OFFSET ${offset}`}`,
    ...values,
    ...(page === undefined ? [] : [page.limit, page.offset]),
  );
  return rows.map(itemOf);
}

const nextPos = '(SELECT coalesce(max(pos), 0) + 1 FROM et_store_items WHERE tenant = $1)';

/** A new item comes after all others of its tenant, and its namespace too if it held nothing; writing it again leaves its place. */
export function* writeItem(
  tenant: string,
  { ns, key, valueJson, vectors }: Extract<StoreOp, { kind: 'put' }>,
  { defaultMs }: StoreTtl,
): Tx<void> {
  yield* run(
    `INSERT INTO et_store_items (tenant, ns, item_key, ns_pos, pos, value, created_at_ms, updated_at_ms, expires_at_ms)
     SELECT $1, $2, $3,
       coalesce((SELECT ns_pos FROM et_store_items WHERE tenant = $1 AND ns = $2 LIMIT 1), ${nextPos}), ${nextPos},
       $4, clock.at, clock.at, clock.at + $5 FROM (SELECT {now} AS at) AS clock WHERE 1 = 1
     ON CONFLICT (tenant, ns, item_key) DO UPDATE SET value = excluded.value, updated_at_ms = excluded.updated_at_ms,
       created_at_ms = CASE WHEN et_store_items.expires_at_ms <= excluded.created_at_ms
         THEN excluded.created_at_ms ELSE et_store_items.created_at_ms END,
       expires_at_ms = excluded.expires_at_ms`,
    ...[tenant, ns, key, valueJson, defaultMs],
  );
  yield* run(`DELETE FROM et_store_vectors WHERE ${atPlace}`, ...[tenant, ns, key]);
  for (const { field, model, vector } of vectors) {
    yield* run(
      `INSERT INTO et_store_vectors (tenant, ns, item_key, field, model, vector) VALUES ($1, $2, $3, $4, $5, $6)`,
      ...[tenant, ns, key, field, model, bytesOf(vector)],
    );
  }
}

/** The item first: its row is what writers of one item wait for. */
export function* deleteItem(tenant: string, ns: string, key: string): Tx<void> {
  for (const table of ['et_store_items', 'et_store_vectors'])
    yield* run(`DELETE FROM ${table} WHERE ${atPlace}`, ...[tenant, ns, key]);
}

/** An item that was written to last for ever goes on doing so. */
export const keepAlive = (
  tenant: string,
  { ns, key }: Pick<StoredItem, 'ns' | 'key'>,
  ms: number,
): Tx<number> =>
  run(
    `UPDATE et_store_items SET expires_at_ms = {now} + $4 WHERE ${atPlace} AND expires_at_ms IS NOT NULL`,
    ...[tenant, ns, key, ms],
  );

/** Items that two sweepers look at go with one of them. */
export function* sweepItems(limit: number): Tx<number> {
  const over = yield* query<{ tenant: string; ns: string; item_key: string }>(
    `SELECT tenant, ns, item_key FROM et_store_items WHERE expires_at_ms <= {now}
     LIMIT $1 {for update} {skip locked}`,
    limit,
  );
  for (const { tenant, ns, item_key } of over) yield* deleteItem(tenant, ns, item_key);
  return over.length;
}
