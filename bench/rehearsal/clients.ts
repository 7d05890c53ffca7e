/** Careful clients: each plays one dialogue after the other and asks again under the same key until a turn is answered. */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { ask } from '../../test/chaos/ask.js';
import type { Op } from '../../test/chaos/history.js';
import type { Dialogue } from '../../test/support/scripted-answers.js';

const againAfterMs = 200;
/** Longer than any fault here lasts. */
const patienceMs = 120_000;

/** Every request with its answer, and the turns that wait for one. */
export class PlayLog {
  readonly ops: Op[] = [];
  /** Keys of turns that were asked for and are not answered. */
  readonly open = new Set<string>();
  answered = 0;
}

export interface Playing {
  /** Where a client's next request goes. */
  readonly url: () => string;
  readonly dialogues: readonly Dialogue[];
  /** Dialogues at a time, each on a thread of its own. */
  readonly atOnce: number;
  readonly log: PlayLog;
  readonly onTurn: (done: number) => void;
}

export const threadOf = (index: number): string => `dialogue-${index}`;

/** Plays every dialogue. @throws when a reply is not the dialogue's, or none comes */
export async function playThrough(playing: Playing): Promise<void> {
  const queue = playing.dialogues.map((dialogue, index) => ({ dialogue, index }));
  const client = async (_: unknown, n: number): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift())
      for (const turn of next.dialogue.turns) {
        const thread = threadOf(next.index);
        const response = await oneTurn(playing, { client: `client ${n}`, thread, text: turn.user });
        if (response !== turn.assistant)
          throw new Error(`${thread}: another reply than the reference came back`);
      }
  };
  await Promise.all(Array.from({ length: playing.atOnce }, client));
}

async function oneTurn(
  { url, log, onTurn }: Playing,
  { client, thread, text }: { client: string; thread: string; text: string },
): Promise<string> {
  const key = randomUUID();
  log.open.add(key);
  const end = performance.now() + patienceMs;
  for (;;) {
    const { json, ...op } = await ask({
      ...{ kind: 'turn', client, thread, key, text, method: 'POST', body: { message: text } },
      url: `${url()}/v1/threads/${thread}/turns`,
      headers: { 'idempotency-key': key },
    });
    log.ops.push(op);
    if (op.status === 200) {
      log.open.delete(key);
      onTurn((log.answered += 1));
      return String(json.response);
    }
    const isLater = op.status === 0 || op.status === 202 || op.status >= 500;
    if (!isLater || performance.now() > end)
      throw new Error(`${thread}: ${op.status} ${op.code ?? ''}`);
    await pause(againAfterMs);
  }
}
