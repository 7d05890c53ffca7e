/** A turn that says more than a process should hold for one reader: seen without its text, and read in pieces. */
import type { ThreadKey } from '../contracts/protocol.js';
import type { SpokenTrace } from '../contracts/text-trace.js';
import type { TurnGlance, TurnPart } from './port.js';
import { isOver, readThread } from './thread-row.js';
import { type RecordRow, recordOf, selectTurn } from './turn-row.js';
import { first, type Tx } from './tx.js';

/** The row, its text left out in the database when reply and messages take more than `maxBytes`. */
export function* glanceAt(
  key: ThreadKey,
  turnId: string,
  maxBytes: number,
): Tx<TurnGlance | undefined> {
  const thread = yield* readThread(key);
  if (thread === undefined) return undefined;
  const row = yield* first<GlanceRow>(glanced, turnId, key.tenant, key.threadId, maxBytes);
  if (row === undefined) return undefined;
  const over = isOver(thread, row.epoch);
  const turn = recordOf({ ...row, response: row.response ?? '' }, over);
  if (!row.is_long || over) return { kind: 'whole', turn };
  const { spoken_trace: trace } = row;
  return { kind: 'long', turn, spoken: trace === null ? null : (JSON.parse(trace) as SpokenTrace) };
}

type GlanceRow = Omit<RecordRow, 'response'> & {
  readonly response: string | null;
  readonly is_long: number | boolean;
  readonly spoken_trace: string | null;
};

const isLong = 'octet_length(t.response) + COALESCE(octet_length(t.messages), 0) > $4';
const unlessLong = (column: string): string =>
  `CASE WHEN ${isLong} THEN NULL ELSE t.${column} END AS ${column}`;

const glanced = `${selectTurn(
  (column) => (column === 'response' || column === 'messages' ? unlessLong(column) : `t.${column}`),
  `${isLong} AS is_long, t.spoken_trace`,
)} WHERE t.turn_id = $1 AND t.tenant = $2 AND t.thread_id = $3`;

const parts: Readonly<Record<TurnPart, string>> = {
  response: 't.response',
  messages: "COALESCE(t.messages, '[]')",
  spoken: "COALESCE({spoken}, '')",
};

/** Undefined when the thread is deleted, or never had such a turn. */
export function* pieceOf(
  key: ThreadKey,
  turnId: string,
  part: TurnPart,
  { from, length }: { readonly from: number; readonly length: number },
): Tx<string | undefined> {
  const thread = yield* readThread(key);
  const row = yield* first<{ epoch: number; piece: string }>(
    `SELECT t.epoch, substr(${parts[part]}, CAST($4 AS INTEGER), CAST($5 AS INTEGER)) AS piece
     FROM et_turns t WHERE t.turn_id = $1 AND t.tenant = $2 AND t.thread_id = $3`,
    ...[turnId, key.tenant, key.threadId, from + 1, length],
  );
  return row === undefined || isOver(thread, row.epoch) ? undefined : row.piece;
}
