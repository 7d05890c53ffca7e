/** A client that wants one turn: it sends the same request under its key until there is an answer that ends it. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Op, SeenEvent } from './history.js';
import { ask, type OpLog } from './ask.js';
import type { Random } from './random.js';
import { remember, type Room } from './rooms.js';

/** What all clients share. */
export interface Stage {
  readonly log: OpLog;
  readonly gateways: readonly string[];
  /** Names of the clients that have not ended yet. */
  readonly busy: Set<string>;
  /** The time for new turns is over. */
  readonly stopping: AbortSignal;
  /** The time for answers is over, too. */
  readonly hopeless: AbortSignal;
}

export interface Wanted {
  readonly client: string;
  readonly room: Room;
  readonly thread: string;
  readonly key: string;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly how: 'json' | 'sse' | 'async';
}

/** Answers after which the same request is sent again. */
const again = new Set(['rate_limited', 'unavailable', 'internal', 'request_timeout']);

export async function sendTurn(
  stage: Stage,
  wanted: Wanted,
  choices: Random,
): Promise<Op | undefined> {
  const { room, thread, key, body } = wanted;
  for (let attempt = 0; !stage.hopeless.aborted; attempt += 1) {
    const op = await sendOnce(stage, wanted, choices, attempt);
    if (op.turnId !== undefined) remember(room.recent, { thread, turnId: op.turnId });
    if (op.result === 'ok' && op.status === 200) {
      remember(room.finished, { thread, key, body });
      return op;
    }
    if (op.result === 'fail' && !again.has(op.code ?? '')) return op;
    // 202, no answer, or "later": the key attaches to the turn.
    await pause(choices.between(50, 300));
  }
  return undefined;
}

async function sendOnce(
  stage: Stage,
  { client, thread, key, text, body, how }: Wanted,
  choices: Random,
  attempt: number,
): Promise<Op> {
  // A client that only wanted its 202 asks for the reply afterwards.
  const mode = how === 'async' && attempt > 0 ? 'json' : how;
  const leaving = mode === 'sse' && choices.chance(0.2) ? choices.between(1, 6) : undefined;
  let seen = 0;
  const op = await ask({
    ...{ kind: 'turn', client, thread, key, text, method: 'POST', body },
    url: `${choices.pick(stage.gateways)}/v1/threads/${thread}/turns`,
    headers: {
      'idempotency-key': key,
      ...(mode === 'sse' && { accept: 'text/event-stream' }),
      ...(mode === 'async' && { prefer: 'respond-async' }),
    },
    onEvent: () => ((seen += 1) === leaving ? 'leave' : 'stay'),
  });
  stage.log.add(op);
  return op;
}

/** Watches a turn that somebody else has sent: comes, goes, and comes back where it was. */
export async function watchTurn(
  stage: Stage,
  viewer: { readonly client: string; readonly thread: string; readonly turnId: string },
  choices: Random,
): Promise<void> {
  let lastEventId: string | undefined;
  for (let visit = 0; visit < 3 && !stage.hopeless.aborted; visit += 1) {
    const leaving = choices.chance(0.5) ? choices.between(1, 8) : undefined;
    let seen = 0;
    const op = await ask({
      ...{ kind: 'join', ...viewer, method: 'GET' },
      url: `${choices.pick(stage.gateways)}/v1/threads/${viewer.thread}/turns/${viewer.turnId}/stream`,
      headers: {
        accept: 'text/event-stream',
        ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
      },
      onEvent: (event: SeenEvent) => {
        lastEventId = event.id ?? lastEventId;
        return (seen += 1) === leaving ? 'leave' : 'stay';
      },
    });
    stage.log.add(op);
    if (op.result !== 'unknown') return;
    await pause(choices.between(20, 200));
  }
}
