/** The sweeper's question: which threads have work that nobody seems to do? */
import type { ThreadKey } from '../contracts/protocol.js';
import { query, run, type Tx } from './tx.js';

/** The longest pause between two wakes of one thread: an outage of hours must not cost hours more. */
const longestPauseMs = 10 * 60_000;

export interface QuietThread {
  readonly thread: ThreadKey;
  readonly seq: number;
  readonly graph: string;
}

/**
 * Takes threads whose earliest unsettled turn shows no sign of life (claim, flush, draft) for `quietMs`. The pause grows
 * with the silence: the next wake comes when the silence before the last one has passed again, so it doubles, and a
 * sign of life ends it. Two sweepers never take the same thread.
 */
export function* takeQuiet(quietMs: number, limit: number): Tx<readonly QuietThread[]> {
  const rows = yield* query<{ tenant: string; thread_id: string; seq: number; graph: string }>(
    `SELECT t.tenant, t.thread_id, u.seq, u.graph
     FROM et_turns u JOIN et_threads t
       ON t.tenant = u.tenant AND t.thread_id = u.thread_id AND t.epoch = u.epoch AND t.settled_seq + 1 = u.seq
     WHERE u.settled_at_ms IS NULL AND u.accepted_at_ms <= {now} - $1 AND u.alive_at_ms <= {now} - $1
       AND (t.swept_at_ms <= u.alive_at_ms
         OR t.swept_at_ms + CASE WHEN t.swept_at_ms - u.alive_at_ms < $2 THEN t.swept_at_ms - u.alive_at_ms ELSE $2 END
           <= {now})
     ORDER BY u.accepted_at_ms LIMIT $3 {for update of t} {skip locked}`,
    quietMs,
    longestPauseMs,
    limit,
  );
  for (const { tenant, thread_id } of rows) {
    yield* run(
      `UPDATE et_threads SET swept_at_ms = {now} WHERE tenant = $1 AND thread_id = $2`,
      tenant,
      thread_id,
    );
  }
  return rows.map(({ tenant, thread_id, seq, graph }) => ({
    thread: { tenant, threadId: thread_id },
    seq,
    graph,
  }));
}
