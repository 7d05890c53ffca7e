/** Ends one fact because its user says so. */
import { withdraw } from '../../memory/facts/record.js';
import type { MemoryOwner } from '../../memory/store.js';
import type { Tx } from '../tx.js';
import { readFacts, writeChange } from './fact-rows.js';
import { lockOwner } from './owner-row.js';

/** @returns false when no standing fact of this owner has the id */
export function* withdrawFact(owner: MemoryOwner, factId: string, now: string): Tx<boolean> {
  if (!(yield* lockOwner(owner))) return false;
  const fact = (yield* readFacts(owner, 'standing')).find(({ id }) => id === factId);
  if (fact === undefined) return false;
  yield* writeChange(owner, withdraw(fact, now), 0);
  return true;
}
