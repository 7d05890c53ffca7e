/** P4 flush: rows of unfinished work under the claim's fence. Also its two small relatives: yield and a failed try. */
import { reachCrashPoint } from '../contracts/crash-point.js';
import type { Failure } from '../contracts/failure.js';
import type { Claim, Flushed, Settled } from './port.js';
import type { FlushRows } from './saver/port.js';
import { writeRows } from './saver-rows.js';
import { claimed, lockForClaim, settleFailed, underClaim, whyLost } from './settle-turn.js';
import { canonicalJson } from './stored-json.js';
import { first, run, type Tx } from './tx.js';

/** Writes everything buffered, all namespaces, in one transaction (P5). */
export function* flushRows(claim: Claim, rows: FlushRows): Tx<Flushed> {
  const thread = yield* lockForClaim(claim);
  if ('kind' in thread) return thread;
  const changed = yield* rows.superstep === null
    ? markAlive(claim)
    : markStep(claim, rows, rows.superstep);
  if (changed === 0) return yield* whyLost(claim, thread);
  yield* writeRows(claim, rows);
  reachCrashPoint('in-flush', claim.thread.threadId);
  return { kind: 'flushed' };
}

const markAlive = (claim: Claim): Tx<number> =>
  run(
    `UPDATE et_turns SET alive_at_ms = {now}, has_rows = 1 WHERE ${underClaim}`,
    ...claimed(claim),
  );

/** A finished superstep is progress: what was lost or failed before it counts no more. */
function markStep(
  claim: Claim,
  rows: FlushRows,
  superstep: NonNullable<FlushRows['superstep']>,
): Tx<number> {
  // The newest root checkpoint of this flush is the finished superstep's (P6 keeps it).
  const root = rows.checkpoints
    .filter(({ ns }) => ns === '')
    .reduce<FlushRows['checkpoints'][number] | undefined>(
      (newest, row) => (newest === undefined || row.pos > newest.pos ? row : newest),
      undefined,
    );
  return run(
    `UPDATE et_turns SET alive_at_ms = {now}, has_rows = 1, step = $7, losses = 0, tries = 0, ran_nodes = $8,
       pending_nodes = $9, step_checkpoint = coalesce($10, step_checkpoint), step_pos = coalesce($11, step_pos)
     WHERE ${underClaim}`,
    ...claimed(claim),
    superstep.finished,
    canonicalJson(superstep.ran),
    canonicalJson(superstep.next),
    root?.checkpointId ?? null,
    root?.pos ?? null,
  );
}

/** Time under claim ends here; the holder's end is not a loss. */
const release = `released = 1, alive_at_ms = {now}, spent_ms = spent_ms + {now} - claimed_at_ms`;

/** Another worker goes on: a drain, or a slice per superstep. */
export function* yieldClaim(claim: Claim): Tx<Flushed> {
  const thread = yield* lockForClaim(claim);
  if ('kind' in thread) return thread;
  const changed = yield* run(
    `UPDATE et_turns SET ${release} WHERE ${underClaim} AND released = 0`,
    ...claimed(claim),
  );
  return changed === 0 ? yield* whyLost(claim, thread) : { kind: 'flushed' };
}

/** Counts a failed try; at the limit the turn settles `failed` in the same transaction (P3). */
export function* failTry(
  claim: Claim,
  failure: Failure,
  maxTries: number,
): Tx<Settled | { readonly kind: 'retry'; readonly tries: number }> {
  const thread = yield* lockForClaim(claim);
  if ('kind' in thread) return thread;
  const turn = yield* first<{ tries: number }>(
    `UPDATE et_turns SET tries = tries + 1, ${release} WHERE ${underClaim} AND released = 0 RETURNING tries`,
    ...claimed(claim),
  );
  if (turn === undefined) return yield* whyLost(claim, thread);
  if (turn.tries < maxTries) return { kind: 'retry', tries: turn.tries };
  const after = yield* settleFailed(claim, failure);
  if (after === undefined) throw new Error('a turn under its own claim did not settle');
  return { kind: 'settled', status: 'failed', version: thread.version, after };
}
