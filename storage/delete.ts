/** P8 delete: one transaction ends the epoch and erases its content. Repeatable. */
import { reachCrashPoint } from '../contracts/crash-point.js';
import type { ThreadKey } from '../contracts/protocol.js';
import type { Deleted } from './port.js';
import { handOverRuns } from './erasure.js';
import { lockThread } from './thread-row.js';
import { run, type Tx } from './tx.js';

/** What holds content and belongs to no later epoch. Turns stay as tombstones. */
const erased = ['et_drafts', 'et_writes', 'et_deltas', 'et_checkpoints', 'et_keys'];

/** A turn of an epoch that is over: settled, and empty. */
export const emptyTurn = `status = CASE WHEN settled_at_ms IS NULL THEN 'aborted' ELSE status END,
  fence = CASE WHEN settled_at_ms IS NULL THEN fence + 1 ELSE fence END,
  settled_at_ms = coalesce(settled_at_ms, {now}),
  input = '', response = '', messages = NULL, values_json = NULL, interrupts = NULL, resume_interrupts = NULL,
  usage_json = NULL, failure_message = NULL, pending_nodes = NULL, ran_nodes = NULL`;

export function* deleteThread(key: ThreadKey): Tx<Deleted> {
  const thread = yield* lockThread(key);
  if (thread === undefined) return { kind: 'not_found' };
  if (thread.deleted === 1) return { kind: 'deleted', nextSeq: thread.next_seq, first: false };
  const { tenant, threadId } = key;
  yield* run(
    `UPDATE et_turns SET ${emptyTurn} WHERE tenant = $1 AND thread_id = $2 AND epoch = $3`,
    tenant,
    threadId,
    thread.epoch,
  );
  for (const table of erased) {
    yield* run(`DELETE FROM ${table} WHERE tenant = $1 AND thread_id = $2`, tenant, threadId);
    reachCrashPoint('in-delete', threadId);
  }
  yield* handOverRuns(key, thread.epoch + 1);
  yield* run(
    `UPDATE et_threads SET epoch = epoch + 1, deleted = 1, version = 0, settled_seq = next_seq - 1, graph = NULL,
       user_id = NULL, metadata = '{}', head_checkpoint = NULL, head_seq = NULL, head_status = NULL, interrupts = NULL,
       next_nodes = NULL, run_id = NULL, updated_at_ms = {now}
     WHERE tenant = $1 AND thread_id = $2`,
    tenant,
    threadId,
  );
  return { kind: 'deleted', nextSeq: thread.next_seq, first: true };
}
