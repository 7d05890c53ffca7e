/** Ends all memory of one user (O5). */
import type { Erased, MemoryOwner } from '../../memory/store.js';
import { run, type Tx } from '../tx.js';
import { keyOf, lockOwner, ofOwner } from './owner-row.js';

/** Under the owner's lock, and his row last: a writer that waits for it begins anew, after the erasure. */
export function* eraseOwner(owner: MemoryOwner): Tx<Erased> {
  yield* lockOwner(owner);
  const removed = (table: string): Tx<number> =>
    run(`DELETE FROM ${table} WHERE ${ofOwner}`, ...keyOf(owner));
  yield* removed('et_fact_vectors');
  const facts = yield* removed('et_facts');
  const episodes = yield* removed('et_episodes');
  const keys = yield* removed('et_memory_keys');
  yield* removed('et_memory_owners');
  return { facts, episodes, keys };
}
