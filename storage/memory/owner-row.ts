/** The row that stands for one user's memory: its lock is the order of his writers (M11). */
import type { MemoryOwner } from '../../memory/store.js';
import { first, run, type Tx } from '../tx.js';

/** The condition on every table of memory: ids are compared whole. */
export const ofOwner = 'tenant = $1 AND user_id = $2';
export const keyOf = ({ tenant, userId }: MemoryOwner) => [tenant, userId] as const;

/** Locks the owner, and makes him known if he is new. @returns how many rows were recorded for him so far */
export function* lockOrCreateOwner(owner: MemoryOwner): Tx<number> {
  const row = yield* first<{ recorded: number }>(
    `INSERT INTO et_memory_owners (tenant, user_id, recorded) VALUES ($1, $2, 0)
     ON CONFLICT (tenant, user_id) DO UPDATE SET recorded = et_memory_owners.recorded RETURNING recorded`,
    ...keyOf(owner),
  );
  return row?.recorded ?? 0;
}

/** @returns false when nothing was ever remembered for him */
export function* lockOwner(owner: MemoryOwner): Tx<boolean> {
  const row = yield* first(
    `SELECT recorded FROM et_memory_owners WHERE ${ofOwner} {for update}`,
    ...keyOf(owner),
  );
  return row !== undefined;
}

export const countRecorded = (owner: MemoryOwner, recorded: number): Tx<number> =>
  run(`UPDATE et_memory_owners SET recorded = $3 WHERE ${ofOwner}`, ...keyOf(owner), recorded);
