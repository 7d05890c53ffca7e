/** The turn that a thread's workflow should be running. */
import type { ThreadKey } from '../../contracts/protocol.js';
import { first, type Tx } from '../tx.js';

export interface OpenTurn {
  readonly turnId: string;
  readonly seq: number;
  readonly epoch: number;
  readonly graph: string;
  readonly fence: number;
  /** Milliseconds since it was accepted or showed a sign of life, whichever came last. */
  readonly silentMs: number;
}

/** The earliest unsettled turn. */
export function* openTurnOf(thread: ThreadKey): Tx<OpenTurn | undefined> {
  const row = yield* first<{
    turn_id: string;
    seq: number;
    epoch: number;
    graph: string;
    fence: number;
    silent_ms: number;
  }>(
    `SELECT u.turn_id, u.seq, u.epoch, u.graph, u.fence,
       {now} - CASE WHEN u.alive_at_ms > u.accepted_at_ms THEN u.alive_at_ms ELSE u.accepted_at_ms END AS silent_ms
     FROM et_turns u JOIN et_threads t
       ON t.tenant = u.tenant AND t.thread_id = u.thread_id AND t.epoch = u.epoch AND t.settled_seq + 1 = u.seq
     WHERE u.tenant = $1 AND u.thread_id = $2 AND t.deleted = 0 AND u.settled_at_ms IS NULL`,
    thread.tenant,
    thread.threadId,
  );
  if (row === undefined) return undefined;
  const { turn_id: turnId, silent_ms: silentMs, ...rest } = row;
  return { turnId, silentMs, ...rest };
}
