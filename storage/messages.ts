/** The transcript: what each turn that the head stands on has said, in order (DESIGN 15.5, F7). */
import type { TranscriptMessage } from '../contracts/http.schema.js';
import type { ThreadKey } from '../contracts/protocol.js';
import { turnOutput } from '../engine/output.js';
import { branchOf, type Span } from './branch.js';
import type { MessageCursor, MessagePage, TurnInput } from './port.js';
import { readCheckpoint } from './saver/rows.js';
import { valuesOf } from './saver/state-view.js';
import { liveThread } from './threads.js';
import { query, type Tx } from './tx.js';
import { turnOfVersion } from './version-row.js';

type Entry = MessagePage['messages'][number];
interface TurnMessages {
  readonly seq: number;
  readonly turn_id: string;
  readonly messages: string | null;
  readonly input: string;
  readonly checkpoint_id: string | null;
  readonly version: number;
  readonly base: number;
}

/** Turns per statement: a turn has two messages or more, so a page of 200 needs few rounds. */
const turnsPerStatement = 50;

export function* transcript(
  key: ThreadKey,
  after: MessageCursor | null,
  limit: number,
): Tx<MessagePage | undefined> {
  const thread = yield* liveThread(key);
  if (thread === undefined) return undefined;
  const found: Placed[] = [];
  const from = after ?? { seq: 0, index: -1 };
  for (const span of yield* branchOf(key, thread)) {
    if (span.beforeSeq <= from.seq) continue;
    yield* collect({ key, epoch: thread.epoch, span, from, enough: limit + 1 }, found);
    if (found.length > limit) break;
  }
  const page = found.slice(0, limit);
  return {
    messages: page.map(({ entry }) => entry),
    next: found.length > limit ? (page.at(-1)?.at ?? null) : null,
  };
}

interface Placed {
  readonly entry: Entry;
  readonly at: MessageCursor;
}

interface Where {
  readonly key: ThreadKey;
  readonly epoch: number;
}

interface Part extends Where {
  readonly span: Span;
  readonly from: MessageCursor;
  /** So many are wanted in all. */
  readonly enough: number;
}

/** Adds what the turns of one span have said after the cursor. */
function* collect({ key, epoch, span, from, enough }: Part, found: Placed[]): Tx<void> {
  let seq = Math.max(from.seq, span.fromSeq);
  for (;;) {
    const turns = yield* query<TurnMessages>(
      `SELECT seq, turn_id, messages, input, checkpoint_id, version,
         COALESCE(from_version, version - 1) AS base
       FROM et_turns
       WHERE tenant = $1 AND thread_id = $2 AND epoch = $3 AND seq >= $4 AND seq < $5 AND version <= $6
       ORDER BY seq LIMIT $7`,
      ...[key.tenant, key.threadId, epoch, seq, span.beforeSeq, span.toVersion, turnsPerStatement],
    );
    for (const turn of turns) {
      for (const [index, message] of (yield* messagesOf({ key, epoch }, turn)).entries()) {
        if (turn.seq === from.seq && index <= from.index) continue;
        const entry = { ...message, turn_id: turn.turn_id, seq: turn.seq };
        found.push({ entry, at: { seq: turn.seq, index } });
      }
    }
    const last = turns.at(-1);
    if (found.length >= enough || last === undefined || turns.length < turnsPerStatement) return;
    seq = last.seq + 1;
  }
}

/** A turn cut off by `interrupt` stored no reply: it has said what its state holds beyond the one that it went on from. */
function* messagesOf(where: Where, turn: TurnMessages): Tx<readonly TranscriptMessage[]> {
  if (turn.messages !== null) return JSON.parse(turn.messages) as TranscriptMessage[];
  const later = { epoch: where.epoch, version: turn.version, head_seq: turn.seq };
  const base = yield* turnOfVersion(where.key, later, turn.base);
  const before = base === undefined ? undefined : yield* stateAt(where, base);
  const { messages } = turnOutput(yield* stateAt(where, turn), before, turn.turn_id);
  if (messages.length > 0) return messages;
  const input = JSON.parse(turn.input) as TurnInput;
  return input.kind === 'message' ? [{ id: turn.turn_id, role: 'user', content: input.text }] : [];
}

function* stateAt(
  { key, epoch }: Where,
  { seq, checkpoint_id: id }: Pick<TurnMessages, 'seq' | 'checkpoint_id'>,
): Tx<Record<string, unknown>> {
  const view = { thread: { ...key, epoch }, epoch, headSeq: seq, ownSeq: -1 };
  const stored = id === null ? undefined : yield* readCheckpoint(view, '', id);
  return stored === undefined ? {} : valuesOf(stored);
}
