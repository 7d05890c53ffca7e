/** Steps that several settling transactions share. The caller holds the thread lock. */
import type { Failure } from '../contracts/failure.js';
import type { Claim, Progress, Settled } from './port.js';
import { eraseTurnRows } from './saver-rows.js';
import { repairText } from './stored-json.js';
import { advanceThread, isOver, lockThread, progressOf, type ThreadRow } from './thread-row.js';
import { atPlace, placeOf, settledStatus } from './turn-row.js';
import { first, run, type Tx } from './tx.js';

export type Lost = Exclude<Settled, { readonly kind: 'settled' }>;

/** P4, first half: the thread is locked and its epoch lives. Otherwise says what has become of the claim. */
export function* lockForClaim(claim: Claim): Tx<ThreadRow | Lost> {
  const thread = yield* lockThread(claim.thread);
  if (thread === undefined || isOver(thread, claim.epoch)) {
    return { kind: 'settled_before', status: 'aborted', after: progressOf(thread) };
  }
  return thread;
}

/**
 * `WHERE` of P4's second half: the claim's turn, if it is still running under the claim's fence (`$5`). By its id (`$6`), too:
 * in a restored database another turn may have got the number of a lost one (O4).
 */
export const underClaim = `${atPlace} AND turn_id = $6 AND fence = $5 AND status = 'running'`;
export const claimed = (claim: Claim) => [...placeOf(claim), claim.fence, claim.turnId] as const;

/** A fenced statement changed no row: who was first? */
export function* whyLost(claim: Claim, thread: ThreadRow): Tx<Lost> {
  const turn = yield* first<{ status: 'pending' }>(
    `SELECT status FROM et_turns WHERE ${atPlace}`,
    ...placeOf(claim),
  );
  const status = turn === undefined ? 'aborted' : settledStatus(turn);
  if (status === undefined) return { kind: 'fence_lost' };
  return { kind: 'settled_before', status, after: progressOf(thread) };
}

/** What a settled turn leaves to clear away. */
export interface Leftovers {
  readonly has_rows: number;
  readonly has_draft: number;
}
type Place = Pick<Claim, 'thread' | 'epoch' | 'seq'>;

/** The committed row is the text now. */
export function* dropDraft(turn: Place, { has_draft }: Pick<Leftovers, 'has_draft'>): Tx<void> {
  if (has_draft === 1) yield* run(`DELETE FROM et_drafts WHERE ${atPlace}`, ...placeOf(turn));
}

/** A turn that leaves the head where it was leaves no rows either (P5). */
export function* dropAll(turn: Place, leftovers: Leftovers): Tx<void> {
  if (leftovers.has_rows === 1) yield* eraseTurnRows(turn);
  yield* dropDraft(turn, leftovers);
}

/** Settles `failed`; undefined when the claim is lost. */
export function* settleFailed(claim: Claim, failure: Failure): Tx<Progress | undefined> {
  const left = yield* first<Leftovers>(
    `UPDATE et_turns SET status = 'failed', settled_at_ms = {now}, failure_code = $7, failure_message = $8
     WHERE ${underClaim} RETURNING has_rows, has_draft`,
    ...claimed(claim),
    failure.code,
    repairText(failure.message),
  );
  if (left === undefined) return undefined;
  yield* dropAll(claim, left);
  return yield* advanceThread(claim.thread, null);
}
