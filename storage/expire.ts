/** Threads that have rested for longer than their time are deleted (O11), each as by hand (P8). */
import { deleteThread } from './delete.js';
import { query, type Tx } from './tx.js';

/** Only threads without an unsettled turn; one that waits for an answer rests, too. Two sweepers never take the same. @returns how many */
export function* expireThreads(idleMs: number, limit: number): Tx<number> {
  const rows = yield* query<{ tenant: string; thread_id: string }>(
    `SELECT t.tenant, t.thread_id FROM et_threads t
     WHERE t.deleted = 0 AND t.settled_seq >= t.next_seq - 1 AND t.updated_at_ms <= {now} - $1
     LIMIT $2 {for update of t} {skip locked}`,
    idleMs,
    limit,
  );
  for (const { tenant, thread_id } of rows) yield* deleteThread({ tenant, threadId: thread_id });
  return rows.length;
}
