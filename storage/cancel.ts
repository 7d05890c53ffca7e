/** P6 cancel: the gateway's transaction settles the turn, pending or running; a commit that was first wins. */
import { reachCrashPoint } from '../contracts/crash-point.js';
import type { ModeSet } from '../contracts/stream-modes.js';
import type { ThreadKey } from '../contracts/protocol.js';
import { listening } from './listening.js';
import type { Cancelled, MovedTurn } from './port.js';
import { eraseAfterStep } from './saver-rows.js';
import { dropAll, dropDraft, type Leftovers } from './settle-turn.js';
import { advanceThread, isOver, lockThread, type ThreadRow } from './thread-row.js';
import { atPlace, placeOf, recordOf, turnById } from './turn-row.js';
import { first, query, run, type Tx } from './tx.js';

interface Place {
  readonly thread: ThreadKey;
  readonly epoch: number;
  readonly seq: number;
}

/** Plain cancel: the head stays, the turn's rows go. */
export function* cancelTurn(key: ThreadKey, turnId: string): Tx<Cancelled> {
  const thread = yield* lockThread(key);
  const turn = yield* turnById(key, turnId);
  if (thread === undefined || turn === undefined) return { kind: 'not_found' };
  const over = isOver(thread, turn.epoch);
  if (over || turn.settled_at_ms !== null) {
    return { kind: 'already_settled', turn: recordOf(turn, over) };
  }
  yield* settleCancelled({ thread: key, epoch: turn.epoch, seq: turn.seq });
  yield* advanceThread(key, null);
  reachCrashPoint('in-cancel', key.threadId);
  const settled = yield* turnById(key, turnId);
  return { kind: 'cancelled', turn: recordOf(settled ?? turn, false) };
}

/** What `multitask` does to the turns before the new one (P6, P9). `interrupt` keeps what the running one has finished. */
export function* cancelUnsettled(
  key: ThreadKey,
  { epoch, settled_seq: settledSeq }: Pick<ThreadRow, 'epoch' | 'settled_seq'>,
  how: 'interrupt' | 'rollback',
): Tx<readonly MovedTurn[]> {
  const open = yield* query<{
    seq: number;
    turn_id: string;
    fence: number;
    step: number;
    step_checkpoint: string | null;
    step_pos: number | null;
  }>(
    `SELECT seq, turn_id, fence, step, step_checkpoint, step_pos FROM et_turns
     WHERE tenant = $1 AND thread_id = $2 AND epoch = $3 AND seq > $4 AND settled_at_ms IS NULL ORDER BY seq`,
    ...[key.tenant, key.threadId, epoch, settledSeq],
  );
  for (const { seq, step_checkpoint: checkpointId, step_pos: pos } of open) {
    const place = { thread: key, epoch, seq };
    if (how === 'interrupt' && checkpointId !== null && pos !== null) {
      yield* keepFinished(place, { checkpointId, pos });
    } else {
      yield* settleCancelled(place);
    }
  }
  yield* advanceThread(key, null);
  return open.map(({ turn_id: turnId, fence, step }) => ({ turnId, fence: fence + 1, step }));
}

const cancelled = `status = 'cancelled', fence = fence + 1, settled_at_ms = {now}`;

function* settleCancelled(turn: Place): Tx<void> {
  const left = yield* first<Leftovers>(
    `UPDATE et_turns SET ${cancelled} WHERE ${atPlace} AND settled_at_ms IS NULL RETURNING has_rows, has_draft`,
    ...placeOf(turn),
  );
  if (left !== undefined) yield* dropAll(turn, left);
}

/** The newest finished root superstep becomes the head (version + 1); what came after it goes. */
function* keepFinished(
  turn: Place,
  kept: { readonly checkpointId: string; readonly pos: number },
): Tx<void> {
  const left = yield* first<
    Pick<Leftovers, 'has_draft'> & { pending_nodes: string; version: number }
  >(
    `UPDATE et_turns SET ${cancelled}, checkpoint_id = $5, version = base_version + 1
     WHERE ${atPlace} AND settled_at_ms IS NULL RETURNING has_draft, pending_nodes, version`,
    ...placeOf(turn),
    kept.checkpointId,
  );
  if (left === undefined) return;
  yield* eraseAfterStep(turn, kept);
  yield* dropDraft(turn, left);
  yield* advanceThread(turn.thread, {
    version: left.version,
    checkpointId: kept.checkpointId,
    seq: turn.seq,
    status: 'cancelled',
    interrupts: null,
    nextNodes: left.pending_nodes,
  });
}

/** Somebody listens: the worker's next superstep runs with tokens (DESIGN 15.2). Settled turns need none. */
export const listenTo = (key: ThreadKey, turnId: string, modes?: ModeSet): Tx<number> =>
  run(
    `UPDATE et_turns SET stream = stream | CAST($4 AS INTEGER)
     WHERE turn_id = $1 AND tenant = $2 AND thread_id = $3 AND settled_at_ms IS NULL
       AND (stream & CAST($4 AS INTEGER)) <> CAST($4 AS INTEGER)`,
    turnId,
    key.tenant,
    key.threadId,
    listening(true, modes),
  );
