/** Drafts: the unfinished text of running turns, for late joiners of another process. Never the truth. */
import type { Draft } from '../contracts/frames.js';
import type { Claim } from './port.js';
import { repairText } from './stored-json.js';
import { query, run, type SqlValue, type Tx } from './tx.js';

interface ClaimDraft {
  readonly claim: Claim;
  readonly draft: Draft;
}

/** Drafts per transaction: the rows of one worker's turns, written some times a second. */
export const draftsPerTransaction = 100;

/**
 * Threads are locked FOR SHARE (P4). One that is being settled is passed over: its draft is worth nothing in a moment,
 * and waiting would hold the drafts of all others.
 */
export function* saveDrafts(drafts: readonly ClaimDraft[]): Tx<void> {
  if (drafts.length === 0) return;
  const locked = yield* query<LockedRow>(
    `SELECT tenant, thread_id, epoch FROM et_threads WHERE deleted = 0
       AND (tenant, thread_id) IN (${values(drafts.length, ['TEXT', 'TEXT'])}) {for share} {skip locked}`,
    ...drafts.flatMap(({ claim: { thread } }) => [thread.tenant, thread.threadId]),
  );
  const open = new Set(locked.map(keyOf));
  const alive = yield* fenced(drafts.filter(({ claim }) => open.has(keyOf(threadRow(claim)))));
  if (alive.length === 0) return;
  const lists = alive.map(
    (_, i) => `(${columns.map((__, c) => `$${i * columns.length + c + 1}`).join(', ')})`,
  );
  yield* run(
    `INSERT INTO et_drafts (${columns.join(', ')}) VALUES ${lists.join(', ')}
     ON CONFLICT (tenant, thread_id, epoch, seq) DO UPDATE SET
       fence = excluded.fence, step = excluded.step, frame_seq = excluded.frame_seq, text = excluded.text`,
    ...alive.flatMap(({ claim, draft }): SqlValue[] => [
      ...[claim.thread.tenant, claim.thread.threadId, claim.epoch, claim.seq],
      ...[claim.fence, draft.step, draft.seq, repairText(draft.text)],
    ]),
  );
}

interface LockedRow {
  readonly tenant: string;
  readonly thread_id: string;
  readonly epoch: number;
}

const columns = ['tenant', 'thread_id', 'epoch', 'seq', 'fence', 'step', 'frame_seq', 'text'];

/** Marks the turns that run under these fences: a draft is a sign of life. */
function* fenced(drafts: readonly ClaimDraft[]): Tx<readonly ClaimDraft[]> {
  if (drafts.length === 0) return [];
  const types = ['TEXT', 'TEXT', 'BIGINT', 'BIGINT', 'BIGINT'];
  const rows = yield* query<{ turn_id: string }>(
    `UPDATE et_turns SET alive_at_ms = {now}, has_draft = 1 WHERE status = 'running'
       AND (tenant, thread_id, epoch, seq, fence) IN (${values(drafts.length, types)}) RETURNING turn_id`,
    ...drafts.flatMap(({ claim }) => [
      ...[claim.thread.tenant, claim.thread.threadId],
      ...[claim.epoch, claim.seq, claim.fence],
    ]),
  );
  const ids = new Set(rows.map(({ turn_id }) => turn_id));
  return drafts.filter(({ claim }) => ids.delete(claim.turnId));
}

/** Typed, since PostgreSQL takes an untyped parameter of a list for text. */
const values = (rows: number, types: readonly string[]): string => {
  const row = (r: number): string =>
    `(${types.map((type, c) => `CAST($${r * types.length + c + 1} AS ${type})`).join(', ')})`;
  return `VALUES ${Array.from({ length: rows }, (_, r) => row(r)).join(', ')}`;
};

const threadRow = ({ thread, epoch }: Claim): LockedRow => ({
  tenant: thread.tenant,
  thread_id: thread.threadId,
  epoch,
});
const keyOf = ({ tenant, thread_id, epoch }: LockedRow): string =>
  JSON.stringify([tenant, thread_id, epoch]);
