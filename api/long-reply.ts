/** The end of a stream whose turn says more than a process should hold for one reader: read and sent in pieces. */
import type { TurnGlance, TurnPart, TurnRecord, TurnStore } from '../storage/port.js';
import type { Places } from './places.js';
import { headOf, slices } from './sse.js';
import { noText, sameText, type TextTrace, traced } from '../contracts/text-trace.js';
import { inJson, replyFrame } from './turn-reply.js';

/** Above this a reply is worth it: a thousand readers of shorter ones hold less than a gigabyte. */
export const longBytes = 1 << 18;
/** Code points that one query gives: a row that comes in one read. What is spoken is put together anew for each. */
const pieceLength: Readonly<Record<TurnPart, number>> = {
  response: 48 << 10,
  messages: 48 << 10,
  spoken: 128 << 10,
};

export interface PieceSource {
  readonly turns: Pick<TurnStore, 'piece'>;
  /** A few readers at once wait for a piece; one that takes nothing holds no place. */
  readonly places: Places;
}

/** The database answered that there is no such turn any more: the reader comes back and is told. */
class TurnGone extends Error {
  override readonly name = 'TurnGone';
}

/** What the turn said as far as `shows` lacks it, then `done` with the bytes of the JSON answer. @throws when the row is gone */
export async function* longEnd(
  source: PieceSource,
  { turn, spoken }: Extract<TurnGlance, { readonly kind: 'long' }>,
  shows: TextTrace,
): AsyncGenerator<string, void> {
  const read = (part: TurnPart): AsyncIterable<string> => piecesOf(source, turn, part);
  const said = spoken ?? (await traceOf(read('spoken')));
  if (said.chars > 0 && !sameText(said, shows)) {
    yield* snapshot(read(spoken?.isResponse === true ? 'response' : 'spoken'));
  }
  const { head, middle, tail } = replyFrame(turn, true);
  yield `${headOf({ event: 'done' })}${head}`;
  for await (const piece of read('response')) yield* slices(inJson(piece));
  yield* slices(middle);
  for await (const piece of read('messages')) yield* slices(piece);
  yield* slices(`${tail}\n\n`);
}

async function* piecesOf(
  { turns, places }: PieceSource,
  { thread, turnId }: TurnRecord,
  part: TurnPart,
): AsyncGenerator<string, void> {
  const length = pieceLength[part];
  for (let from = 0; ; from += length) {
    const giveBack = await places.take();
    const piece = await turns
      .piece(thread, turnId, part, { from, length })
      .finally(() => giveBack());
    if (piece === undefined) throw new TurnGone();
    if (piece !== '') yield piece;
    // UTF-16 has at least one unit a code point: less means that this was the last.
    if (piece.length < length) return;
  }
}

async function* snapshot(spoken: AsyncIterable<string>): AsyncGenerator<string, void> {
  yield `${headOf({ event: 'snapshot' })}{"text":"`;
  for await (const piece of spoken) yield* slices(inJson(piece));
  yield '"}\n\n';
}

async function traceOf(text: AsyncIterable<string>): Promise<TextTrace> {
  let trace = noText;
  for await (const piece of text) trace = traced(trace, piece);
  return trace;
}
