/** Reads of single turns. */
import type { ThreadKey } from '../contracts/protocol.js';
import type { TurnRecord } from './port.js';
import { isOver, lockThread, readThread, type ThreadRow } from './thread-row.js';
import { recordOf, turnById } from './turn-row.js';
import type { Tx } from './tx.js';

export const getTurn = (key: ThreadKey, turnId: string): Tx<TurnRecord | undefined> =>
  turnUnder(readThread(key), key, turnId);

/** Under the thread lock: an accept whose COMMIT is unknown may still be in flight (P9). */
export const findAccepted = (key: ThreadKey, turnId: string): Tx<TurnRecord | undefined> =>
  turnUnder(lockThread(key), key, turnId);

function* turnUnder(
  thread: Tx<ThreadRow | undefined>,
  key: ThreadKey,
  turnId: string,
): Tx<TurnRecord | undefined> {
  const row = yield* thread;
  if (row === undefined) return undefined;
  const turn = yield* turnById(key, turnId);
  return turn === undefined ? undefined : recordOf(turn, isOver(row, turn.epoch));
}
