/** The law of streams (P10): text is that of one attempt, ids rise, one end, and `done` only with the committed reply. */
import type { Indexed } from './indexed.js';
import { said } from './check-answers.js';
import type { Op, SeenEvent, Violation } from './history.js';

export function* checkStreams({ ops }: Indexed): Iterable<Violation> {
  const spoken = spokenByTurn(ops);
  for (const op of ops) {
    if (op.events === undefined) continue;
    yield* checkEnds(op, op.events);
    yield* checkIds(op, op.events);
    const text = op.turnId === undefined ? undefined : spoken.get(op.turnId);
    if (text !== undefined) yield* checkText(op, op.events, text);
  }
}

/** All that the assistant said in a turn, from any reply that was seen of it. */
function spokenByTurn(ops: readonly Op[]): Map<string, string> {
  const spoken = new Map<string, string>();
  for (const { turnId, body, result, turnStatus } of ops) {
    if (turnId === undefined || body === undefined || result !== 'ok') continue;
    if (turnStatus !== 'committed' && turnStatus !== 'interrupted') continue;
    if (spoken.has(turnId)) continue;
    const { output } = JSON.parse(body) as {
      output?: { messages?: readonly { role: string; content: string }[] } | null;
    };
    const messages = output?.messages ?? [];
    const said = messages.filter(({ role }) => role === 'assistant').map(({ content }) => content);
    spoken.set(turnId, said.join(''));
  }
  return spoken;
}

const isEnd = ({ event }: SeenEvent): boolean => event === 'done' || event === 'error';

function* checkEnds(op: Op, events: readonly SeenEvent[]): Iterable<Violation> {
  const end = events.findIndex(isEnd);
  if (end !== -1 && end !== events.length - 1) {
    yield { kind: 'stream-end', detail: `${said(op)}: events follow the end` };
  }
  if (events.length > 0 && events[0]?.event !== 'accepted' && events[0]?.event !== 'error') {
    yield { kind: 'stream-begin', detail: `${said(op)} begins with ${events[0]?.event}` };
  }
}

function* checkIds(op: Op, events: readonly SeenEvent[]): Iterable<Violation> {
  let [fence, seq] = [0, 0];
  for (const { id } of events) {
    const found = /^(.+)\.(\d+)\.(\d+)$/.exec(id ?? '');
    if (found === null) continue;
    const now = { turn: found[1], fence: Number(found[2]), seq: Number(found[3]) };
    if (op.turnId !== undefined && now.turn !== op.turnId) {
      yield { kind: 'bleed', detail: `${said(op)} was sent an event of ${now.turn}` };
    }
    if (now.fence < fence || (now.fence === fence && now.seq <= seq)) {
      yield { kind: 'stream-ids', detail: `${said(op)}: ${id} after ${fence}.${seq}` };
    }
    ({ fence, seq } = now);
  }
}

/** The same base gives the same words, so whatever is shown of a committed turn is a prefix of what it said. */
function* checkText(op: Op, events: readonly SeenEvent[], spoken: string): Iterable<Violation> {
  let text = '';
  for (const { event, data } of events) {
    if (event === 'reset') text = '';
    else if (event === 'snapshot') text = textOf(data);
    else if (event === 'token') text += textOf(data);
    if (!spoken.startsWith(text)) {
      yield { kind: 'stream-text', detail: `${said(op)} showed "${text}" of "${spoken}"` };
      return;
    }
    if (event === 'done' && text !== spoken) {
      yield { kind: 'stream-text', detail: `${said(op)} ended with "${text}" of "${spoken}"` };
    }
  }
}

const textOf = (data: string): string => (JSON.parse(data) as { text: string }).text;
