/** Cheap looks at many turns at once: gateways wait by them, workers see their fences move (P6). */
import type { TurnStatus } from '../contracts/protocol.js';
import { listenedTo } from './listening.js';
import type { ClaimLook } from './port.js';
import { query, type Tx } from './tx.js';

/** Ids per statement; lists are filled up to powers of two, so that the prepared texts stay few. */
const idsPerStatement = 256;

export interface RowLook extends ClaimLook {
  readonly step: number;
}

/** Turn id → what moves on its row. A turn of a dead epoch is `aborted` (P8); an unknown id is left out. */
export function* lookAt(turnIds: readonly string[]): Tx<Map<string, RowLook>> {
  const found = new Map<string, RowLook>();
  for (let from = 0; from < turnIds.length; from += idsPerStatement) {
    const ids = turnIds.slice(from, from + idsPerStatement);
    const width = 2 ** Math.ceil(Math.log2(ids.length));
    const marks = Array.from({ length: width }, (_, i) => `$${i + 1}`).join(', ');
    const padded = Array.from({ length: width }, (_, i) => ids[i] ?? ids[0] ?? '');
    const rows = yield* query<LookRow>(
      `SELECT u.turn_id, u.status, u.fence, u.step, u.stream, t.epoch = u.epoch AS alive
       FROM et_turns u JOIN et_threads t ON t.tenant = u.tenant AND t.thread_id = u.thread_id
       WHERE u.turn_id IN (${marks})`,
      ...padded,
    );
    for (const { turn_id, status, fence, step, stream, alive } of rows) {
      found.set(turn_id, {
        status: alive ? status : 'aborted',
        fence,
        step,
        ...listenedTo(stream),
      });
    }
  }
  return found;
}

interface LookRow {
  readonly turn_id: string;
  readonly status: TurnStatus;
  readonly fence: number;
  readonly step: number;
  readonly stream: number;
  /** 0 or 1, or a boolean, as the database has it. */
  readonly alive: number | boolean;
}
