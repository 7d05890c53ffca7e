/** `everthread threads tail`: watches the turns of a thread, one after the other, without touching them. */
import { setTimeout as pause } from 'node:timers/promises';
import type { ThreadReply } from '../client/client.js';
import { linkGateway, type GatewayLink } from './gateway-link.js';
import { showRaw, showTurn, standardPaper } from './show-turn.js';
import type { TailFlags } from './threads-command.js';

/** A person waits for the next turn; a gateway that is asked once a second does not notice. */
const lookEveryMs = 1_000;

/** @returns the exit code: 0 when it ended by itself or by Ctrl-C, 1 when there is no such thread */
export async function tailThread(id: string, flags: TailFlags): Promise<number> {
  const { client, paint } = await linkGateway(flags.url);
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  let shown: string | undefined;
  while (!stop.signal.aborted) {
    const thread = await client.thread(id);
    if (thread === undefined) {
      process.stderr.write(`There is no thread ${id}.\n`);
      return 1;
    }
    const { turn } = thread;
    if (turn !== undefined && turn.turn_id !== shown) {
      shown = turn.turn_id;
      if (flags.json !== true) say(paint.dim(`turn ${shown} (${turn.status})`));
      await watch({ client, signal: stop.signal }, { id, turn, json: flags.json === true });
      continue;
    }
    if (turn === undefined && flags.follow !== true) {
      if (shown === undefined) process.stderr.write(`Nothing runs on thread ${id}.\n`);
      return 0;
    }
    await pause(lookEveryMs, undefined, { signal: stop.signal }).catch(() => undefined);
  }
  return 0;
}

interface Watched {
  readonly id: string;
  readonly turn: NonNullable<ThreadReply['turn']>;
  readonly json: boolean;
}

async function watch(
  { client, signal }: { readonly client: GatewayLink['client']; readonly signal: AbortSignal },
  { id, turn, json }: Watched,
): Promise<void> {
  const events = client.join(id, turn.turn_id, { signal });
  const show = json ? showRaw : showTurn;
  const end = await show(events, { paper: standardPaper(), onAccepted: () => undefined });
  if (end.kind === 'problem' && !json) say(`The turn ended: ${end.message} (${end.code})`);
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);
