/** The commit: the last rows, the reply, version + 1, status and the new head are one transaction (DESIGN 4.3). */
import { reachCrashPoint } from '../contracts/crash-point.js';
import { noText, type SpokenTrace, traced } from '../contracts/text-trace.js';
import type { Failure } from '../contracts/failure.js';
import type { Claim, Settled, Settlement } from './port.js';
import type { FlushRows } from './saver/port.js';
import { writeRows } from './saver-rows.js';
import {
  claimed,
  dropDraft,
  lockForClaim,
  settleFailed,
  underClaim,
  whyLost,
  type Leftovers,
} from './settle-turn.js';
import { canonicalJson, canonicalText, repairText } from './stored-json.js';
import { advanceThread, progressOf } from './thread-row.js';
import { atPlace, placeOf, settledStatus, type TurnRow } from './turn-row.js';
import { first, type Tx } from './tx.js';

type Finish = Exclude<Settlement, { readonly kind: 'failed' }>;

/** A settlement as it stands in the row: serialised before BEGIN (P4). */
export interface FinishText {
  readonly status: Finish['kind'];
  readonly checkpointId: string;
  readonly response: string;
  readonly messages: string;
  readonly valuesJson: string;
  readonly interrupts: string | null;
  readonly next: string;
  readonly usage: string | null;
  /** Of a turn that readers may get in pieces; null for the others, which are compared whole. */
  readonly spokenTrace: string | null;
}

/** No text of fewer characters is long for a reader (see `TurnStore.glance`). */
const tracedChars = 1 << 16;

export const finishText = (s: Finish): FinishText => ({
  status: s.kind,
  checkpointId: s.checkpointId,
  response: repairText(s.response),
  messages: canonicalJson(s.messages),
  spokenTrace: spokenTrace(s),
  valuesJson: canonicalText(s.valuesJson),
  interrupts: s.kind === 'interrupted' ? canonicalJson(s.interrupts) : null,
  next: canonicalJson(s.next),
  usage: s.usage === undefined ? null : canonicalJson(s.usage),
});

function spokenTrace({ response, messages }: Finish): string | null {
  const said = messages.filter(({ role }) => role === 'assistant').map(({ content }) => content);
  const chars = said.reduce((sum, { length }) => sum + length, response.length);
  if (chars < tracedChars) return null;
  const spoken: SpokenTrace = {
    ...said.reduce((trace, text) => traced(trace, repairText(text)), noText),
    isResponse: said.length === 1 && said[0] === response,
  };
  return JSON.stringify(spoken);
}

/** Commits or interrupts the turn under its claim (P3, P4). */
export function* settleTurn(claim: Claim, finish: FinishText, rows: FlushRows | null): Tx<Settled> {
  const thread = yield* lockForClaim(claim);
  if ('kind' in thread) return thread;
  const version = thread.version + 1;
  const left = yield* writeReply(claim, finish, version);
  if (left === undefined) return yield* whyLost(claim, thread);
  if (rows !== null) yield* writeRows(claim, rows);
  yield* dropDraft(claim, left);
  const after = yield* advanceThread(claim.thread, {
    version,
    checkpointId: finish.checkpointId,
    seq: claim.seq,
    status: finish.status,
    interrupts: finish.interrupts,
    nextNodes: finish.next,
  });
  reachCrashPoint('before-commit', claim.thread.threadId);
  return { kind: 'settled', status: finish.status, version, after };
}

const writeReply = (claim: Claim, finish: FinishText, version: number): Tx<Leftovers | undefined> =>
  first<Leftovers>(
    `UPDATE et_turns SET status = $7, version = $8, checkpoint_id = $9, response = $10, messages = $11, values_json = $12,
       interrupts = $13, usage_json = $14, spoken_trace = $15, settled_at_ms = {now}
     WHERE ${underClaim} RETURNING has_rows, has_draft`,
    ...claimed(claim),
    ...[finish.status, version, finish.checkpointId, finish.response, finish.messages],
    ...[finish.valuesJson, finish.interrupts, finish.usage, finish.spokenTrace],
  );

/** The activity gives up: final error, or a state that cannot be stored. */
export function* failTurn(claim: Claim, failure: Failure): Tx<Settled> {
  const thread = yield* lockForClaim(claim);
  if ('kind' in thread) return thread;
  const after = yield* settleFailed(claim, failure);
  if (after === undefined) return yield* whyLost(claim, thread);
  return { kind: 'settled', status: 'failed', version: thread.version, after };
}

/** P3: "settled with my fence" proves an unknown COMMIT. Under the thread lock, since the lost transaction may still be in flight. */
export function* lookUpClaim(claim: Claim): Tx<Settled | { readonly kind: 'unsettled' }> {
  const thread = yield* lockForClaim(claim);
  if ('kind' in thread) return thread;
  const after = progressOf(thread);
  const turn = yield* first<Pick<TurnRow, 'status' | 'fence' | 'version'>>(
    `SELECT status, fence, version FROM et_turns WHERE ${atPlace}`,
    ...placeOf(claim),
  );
  if (turn === undefined) return { kind: 'settled_before', status: 'aborted', after };
  const mine = turn.fence === claim.fence;
  const status = settledStatus(turn);
  if (status === undefined) return { kind: mine ? 'unsettled' : 'fence_lost' };
  if (!mine) return { kind: 'settled_before', status, after };
  return { kind: 'settled', status, version: turn.version ?? thread.version, after };
}
