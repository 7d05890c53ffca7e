/** Gets a finished piece of work into a database that may be away: it is never thrown away because of that (DESIGN 4.4). */
import { setTimeout as pause } from 'node:timers/promises';
import { reachCrashPoint } from '../contracts/crash-point.js';
import { CommitUnknown, StorageUnavailable } from '../storage/port.js';
import type { Claim, ClaimStore, Flushed, Settled, Settlement } from '../storage/port.js';
import type { FlushRows } from '../storage/saver/port.js';

/** First pause and longest one between tries while the database is away: quick at first, gentle in a long outage. */
const firstPauseMs = 50;
const longestPauseMs = 2_000;

/** Tries until the database answers. `lost` ends the waiting: the claim can no longer be ours. */
async function untilAnswered<T>(work: () => Promise<T>, lost: AbortSignal): Promise<T> {
  for (let waitMs = firstPauseMs; ; waitMs = Math.min(waitMs * 2, longestPauseMs)) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StorageUnavailable) || lost.aborted) throw error;
      await pause(waitMs);
    }
  }
}

/** For what may be done again as it is: an unknown COMMIT is then no riddle, only a database that is away. */
async function repeatable<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof CommitUnknown) throw new StorageUnavailable(error.message);
    throw error;
  }
}

/** A flush writes the same rows however often it is sent. */
export const flushSurely = (
  claims: ClaimStore,
  claim: Claim,
  rows: FlushRows,
  lost: AbortSignal,
): Promise<Flushed> => untilAnswered(() => repeatable(claims.flush(claim, rows)), lost);

/** Settles; an unknown COMMIT is looked up, and sent again only when it did not happen (P3). */
export const settleSurely = (
  claims: ClaimStore,
  claim: Claim,
  work: { readonly settlement: Settlement; readonly rows: FlushRows | null },
  lost: AbortSignal,
): Promise<Settled> =>
  untilAnswered(async () => {
    try {
      const settled = await claims.settle(claim, work.settlement, work.rows);
      reachCrashPoint('after-commit', claim.thread.threadId);
      return settled;
    } catch (error) {
      if (!(error instanceof CommitUnknown)) throw error;
      // The look-up writes nothing, but locks the thread, so it has a COMMIT of its own that can be lost.
      const found = await untilAnswered(() => repeatable(claims.lookUp(claim)), lost);
      if (found.kind !== 'unsettled') return found;
      throw new StorageUnavailable('the commit did not happen; it is sent again');
    }
  }, lost);
