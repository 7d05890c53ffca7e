/** The clients of a run, and how it is read back: the same for a cluster of processes and for a system in this one. */
import { setTimeout as pause } from 'node:timers/promises';
import { ask, type OpLog } from './ask.js';
import { viewer, writer, type Pace } from './clients.js';
import type { Random } from './random.js';
import { readState, readThread } from './read-back.js';
import { openTurns, type Sql } from './read-store.js';
import { room, type Graph, type Room } from './rooms.js';
import type { Stage } from './send-turn.js';

/** A system that clients can talk to, and whose database and model the harness can see. */
export interface Target {
  readonly gateways: readonly string[];
  readonly model: { readonly journal: readonly unknown[] };
  look<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
}

const kindsOfRooms: readonly (readonly [name: string, graph: Graph, wild: boolean])[] = [
  ['shared-0', 'chat', false],
  ['shared-1', 'steps', false],
  ['single-0', 'chat', false],
  ['single-1', 'steps', false],
  ['wild-0', 'chat', true],
  ['wild-1', 'steps', true],
  ['ask-0', 'ask', false],
  ['ask-1', 'ask', true],
];

/** Says in its name who has not come to an end. */
export async function busy(stage: Stage, name: string, work: Promise<void>): Promise<void> {
  stage.busy.add(name);
  await work;
  stage.busy.delete(name);
}

export const makeRooms = (): readonly Room[] =>
  kindsOfRooms.map(([name, graph, wild]) => room(name, graph, wild));

const writersOf = (name: string): number => (name.startsWith('single') ? 1 : 2);

export function startClients(
  stage: Stage,
  rooms: readonly Room[],
  pace: Pace,
  choices: Random,
): readonly Promise<void>[] {
  const writers = rooms.flatMap((one) =>
    Array.from({ length: writersOf(one.name) }, (_, n) => {
      const name = `${one.name}-w${n}`;
      return busy(stage, name, writer(stage, { name, room: one, pace }, choices.split(name)));
    }),
  );
  const viewers = ['viewer-0', 'viewer-1'].map((name) =>
    busy(stage, name, viewer(stage, { name, rooms }, choices.split(name))),
  );
  return [...writers, ...viewers];
}

/** Every accepted turn settles by itself; one that does not is found by the checker. */
export async function untilQuiet({ look }: Target, limitMs: number): Promise<void> {
  const end = performance.now() + limitMs;
  while (performance.now() < end) {
    if ((await look(openTurns)) === 0) return;
    await pause(200);
  }
}

/** How many settled turns are asked for again by their keys; each is one request. */
const maxReplays = 60;

export async function readBack(
  { gateways, model }: Target,
  log: OpLog,
  rooms: readonly Room[],
): Promise<void> {
  const [gateway = ''] = gateways;
  const threads = [...new Set(log.ops.map(({ thread }) => thread))];
  const reader = { client: 'reader', final: true };
  for (const thread of threads) {
    await readThread(log, gateway, { ...reader, thread });
    await readState(log, gateway, { ...reader, thread });
  }
  const turns = new Map(
    log.ops.flatMap((op) => (op.turnId === undefined ? [] : [[op.turnId, op.thread]])),
  );
  for (const [turnId, thread] of turns) {
    const url = `${gateway}/v1/threads/${thread}/turns/${turnId}`;
    log.add(await ask({ kind: 'show', ...reader, thread, turnId, method: 'GET', url }));
  }
  const replays = rooms.filter(({ wild }) => !wild).flatMap(({ finished }) => finished);
  for (const { thread, key, body } of replays.slice(-maxReplays)) {
    const before = model.journal.length;
    const op = await ask({
      ...{ kind: 'replay', ...reader, thread, key, method: 'POST', body },
      url: `${gateway}/v1/threads/${thread}/turns`,
      headers: { 'idempotency-key': key },
    });
    log.add({ ...op, modelCalls: model.journal.length - before });
  }
}
