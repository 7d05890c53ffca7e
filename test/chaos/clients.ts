/** The clients of a chaos run. Each is a loop of choices from a stream of numbers of its own. */
import { setTimeout as pause } from 'node:timers/promises';
import { ask } from './ask.js';
import type { Op } from './history.js';
import type { Random } from './random.js';
import { readThread } from './read-back.js';
import type { Room } from './rooms.js';
import { sendTurn, watchTurn, type Stage, type Wanted } from './send-turn.js';

/** How fast a client acts, and how long the model takes: the fault mixes of the negative controls need slow turns. */
export interface Pace {
  readonly thinkMs: readonly [number, number];
  readonly modelMs: readonly [number, number];
}

export const usualPace: Pace = { thinkMs: [20, 300], modelMs: [0, 300] };

type Act =
  'turn' | 'again' | 'conflict' | 'race' | 'show' | 'read' | 'cancel' | 'delete' | 'multitask';

const tame: Partial<Record<Act, number>> = {
  turn: 76,
  again: 8,
  conflict: 5,
  race: 3,
  show: 4,
  read: 4,
};
const wild: Partial<Record<Act, number>> = {
  ...{ turn: 50, again: 6, show: 4, read: 4 },
  ...{ cancel: 14, multitask: 18, delete: 4 },
};

export async function writer(
  stage: Stage,
  client: { readonly name: string; readonly room: Room; readonly pace: Pace },
  choices: Random,
): Promise<void> {
  const { name, room, pace } = client;
  const self: Self = { stage, name, room, pace, choices, count: 0 };
  while (!stage.stopping.aborted) {
    await acts[choices.weighted<Act>(room.wild ? wild : tame)](self);
    await pause(choices.between(...pace.thinkMs));
  }
}

interface Self {
  readonly stage: Stage;
  readonly name: string;
  readonly room: Room;
  readonly pace: Pace;
  readonly choices: Random;
  count: number;
}

const acts: Readonly<Record<Act, (self: Self) => Promise<unknown>>> = {
  turn: (self) => converse(self),
  async again({ stage, name, room, choices }) {
    const known = room.finished.length === 0 ? undefined : choices.pick(room.finished);
    if (known === undefined) return;
    const { thread, key, body } = known as typeof known & { readonly body: Wanted['body'] };
    await sendTurn(
      stage,
      { client: name, room, thread, key, text: textOf(body), body, how: 'json' },
      choices,
    );
  },
  async conflict(self) {
    const { stage, name, room, choices } = self;
    const known = room.finished.length === 0 ? undefined : choices.pick(room.finished);
    if (known === undefined) return;
    const { text } = room.next('other');
    await logged(stage, {
      ...{ kind: 'conflict', client: name, thread: known.thread, key: known.key, text },
      ...{
        method: 'POST',
        url: `${choices.pick(stage.gateways)}/v1/threads/${known.thread}/turns`,
      },
      headers: { 'idempotency-key': known.key, prefer: 'respond-async' },
      body: { message: text },
    });
  },
  /** One request twice at once, perhaps at two gateways: one turn. */
  async race(self) {
    const wanted = newTurn(self);
    const sides = ['left', 'right'].map((side) => self.choices.split(`${wanted.key}/${side}`));
    await Promise.all(sides.map((side) => sendTurn(self.stage, wanted, side)));
  },
  async show({ stage, name, room, choices }) {
    const known = room.recent.length === 0 ? undefined : choices.pick(room.recent);
    if (known === undefined) return;
    await logged(stage, {
      ...{ kind: 'show', client: name, ...known, method: 'GET' },
      url: `${choices.pick(stage.gateways)}/v1/threads/${known.thread}/turns/${known.turnId}`,
    });
  },
  read: ({ stage, name, room, choices }) =>
    readThread(stage.log, choices.pick(stage.gateways), { client: name, thread: room.thread }),
  async cancel(self) {
    const { stage, name, choices } = self;
    const wanted = { ...newTurn(self), how: 'async' as const };
    const sent = sendTurn(stage, wanted, choices.split(wanted.key));
    await pause(choices.between(0, 400));
    const known = self.room.recent.at(-1);
    if (known !== undefined) {
      await logged(stage, {
        ...{ kind: 'cancel', client: name, ...known, method: 'POST' },
        url: `${choices.pick(stage.gateways)}/v1/threads/${known.thread}/turns/${known.turnId}/cancel`,
      });
    }
    await sent;
  },
  multitask: (self) =>
    converse(self, { multitask: self.choices.pick(['interrupt', 'rollback', 'reject']) }),
  async delete({ stage, name, room, choices }) {
    const { thread } = room;
    for (let done = false; !done && !stage.hopeless.aborted;) {
      const op = await logged(stage, {
        ...{ kind: 'delete', client: name, thread, method: 'DELETE' },
        url: `${choices.pick(stage.gateways)}/v1/threads/${thread}`,
      });
      done = op.result === 'ok' || op.code === 'not_found';
      if (!done) await pause(choices.between(100, 400));
    }
  },
};

async function logged(stage: Stage, asked: Parameters<typeof ask>[0]): Promise<Op> {
  const op = await ask(asked);
  stage.log.add(op);
  return op;
}

/** A turn, and where the graph asks back, mostly the answer. */
async function converse(self: Self, more: Readonly<Record<string, unknown>> = {}): Promise<void> {
  const { stage, choices, room, name } = self;
  const wanted = newTurn(self, more);
  const op = await sendTurn(stage, wanted, choices);
  if (op?.turnStatus !== 'interrupted' || !choices.chance(0.8)) return;
  await pause(choices.between(0, 200));
  const { thread, text } = room.next('yes');
  if (thread !== wanted.thread) return;
  const resume = { ...wanted, key: `${wanted.key}-resume`, text, body: { resume: text } };
  await sendTurn(stage, { ...resume, client: name, how: 'json' }, choices);
}

function newTurn(self: Self, more: Readonly<Record<string, unknown>> = {}): Wanted {
  const { room, choices, name, pace } = self;
  self.count += 1;
  const { thread, text } = room.next(modelOptions(choices, pace));
  return {
    ...{ client: name, room, thread, key: `${name}-${self.count}`, text },
    body: { message: text, graph: room.graph, ...more },
    how: choices.weighted({ json: 6, sse: 3, async: 1 }),
  };
}

/** What the scripted model does: takes its time, and sometimes fails once. */
function modelOptions(choices: Random, { modelMs }: Pace): string {
  const delay = `delay=${choices.between(...modelMs)}`;
  if (choices.chance(0.04))
    return `${delay} ${choices.pick(['fail=500', 'drop=1', 'cut=1'])} times=1`;
  return choices.chance(0.2) ? `${delay} gap=${choices.between(5, 60)}` : delay;
}

const textOf = (body: Wanted['body']): string => String(body.message ?? body.resume);

/** Joins streams of turns that others have sent. */
export async function viewer(
  stage: Stage,
  client: { readonly name: string; readonly rooms: readonly Room[] },
  choices: Random,
): Promise<void> {
  while (!stage.stopping.aborted) {
    const known = choices.pick(client.rooms).recent.slice(-3);
    if (known.length > 0) {
      const { thread, turnId } = choices.pick(known);
      await watchTurn(stage, { client: client.name, thread, turnId }, choices);
    }
    await pause(choices.between(50, 400));
  }
}
