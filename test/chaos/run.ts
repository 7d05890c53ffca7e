/** One chaos run: a world, clients, a plan of faults; then healing, reading everything back, and the checker. */
import { setTimeout as pause } from 'node:timers/promises';
import { ask, OpLog } from './ask.js';
import { checkHistory } from './check-history.js';
import { usualPace, viewer, writer, type Pace } from './clients.js';
import { until } from '../support/until.js';
import { canaryOf, type History, type Violation } from './history.js';
import { startJournaledModel, type JournaledModel } from './model.js';
import { lastsBeside, planFaults, shownPlan, usualMix, type Mix } from './plan.js';
import { random, type Random } from './random.js';
import { readState, readThread } from './read-back.js';
import { openTurns, readStore, storeId } from './read-store.js';
import { reportOf, type FaultSpan, type Report } from './report.js';
import { room, type Graph, type Room } from './rooms.js';
import type { Stage } from './send-turn.js';
import { signaller } from './signaller.js';
import { devWorld } from './world-dev.js';
import { postgresWorld } from './world-postgres.js';
import type { Fault, World } from './world.js';

export interface ChaosOptions {
  readonly seed: number;
  readonly seconds: number;
  readonly storage: 'sqlite' | 'postgres';
  readonly mix?: Mix | undefined;
  readonly gapMs?: readonly [number, number] | undefined;
  readonly pace?: Pace | undefined;
  /** Another build of the product. */
  readonly bin?: string | undefined;
  /** How long clients and turns may take to settle once all faults have healed. */
  readonly healLimitMs?: number | undefined;
  /** Looks at the history every few seconds and ends at the first violation: for builds that must have one. */
  readonly untilViolation?: boolean | undefined;
  readonly say: (line: string) => void;
}

/** What a violation-free run is given to settle; a slow machine with a cold Temporal needs some of it. */
const usualHealLimitMs = 120_000;
const liveCheckMs = 4_000;
const progressMs = 5_000;

export async function chaosRun(options: ChaosOptions): Promise<Report> {
  const choices = random(`${options.seed}/${options.storage}`);
  const model = await startJournaledModel();
  const worldOptions = { bin: options.bin };
  const world = await (
    options.storage === 'postgres'
      ? postgresWorld(model, worldOptions)
      : devWorld(model, worldOptions)
  ).catch(async (error: unknown) => {
    await model.close();
    throw error;
  });
  try {
    await warmUp(world);
    return await play(options, world, model, choices);
  } finally {
    await world.stop();
    await model.close();
  }
}

/** Workers are slow to start, and faults before the first turn would meet nobody. */
async function warmUp({ gateways: [gateway = ''] }: World): Promise<void> {
  const thread = 'warm-up';
  const warm = { kind: 'turn', client: thread, thread, method: 'POST' } as const;
  await until('a first turn', async () => {
    const url = `${gateway}/v1/threads/${thread}/turns`;
    const headers = { 'idempotency-key': thread };
    const op = await ask({ ...warm, url, headers, body: { message: canaryOf(thread, 0) } });
    return op.status === 200 ? true : undefined;
  });
}

async function play(
  options: ChaosOptions,
  world: World,
  model: JournaledModel,
  choices: Random,
): Promise<Report> {
  const plan = planFaults(choices.split('plan'), {
    kinds: world.kinds,
    mix: options.mix ?? usualMix,
    gapMs: options.gapMs ?? [800, 2_500],
    totalMs: options.seconds * 1_000,
  });
  options.say(`plan: ${shownPlan(plan)}`);
  const log = new OpLog();
  const rooms = makeRooms();
  const [stopping, hopeless] = [new AbortController(), new AbortController()];
  const stage: Stage = {
    ...{ log, gateways: world.gateways },
    ...{ stopping: stopping.signal, hopeless: hopeless.signal },
  };
  const signals = { sent: 0 };
  const startMs = performance.now();
  const store = await world.look(storeId);
  const clients = Promise.all([
    ...startClients(stage, rooms, options.pace ?? usualPace, choices),
    signaller(
      stage,
      { address: world.temporalAddress, store, rooms },
      choices.split('signals'),
      signals,
    ),
  ]);
  const spans: FaultSpan[] = [];
  const nemesis = inflict({ world, plan, choices, spans, log, stopping: stopping.signal });
  const found = await untilTime(options, { world, model, log, startMs, spans });

  stopping.abort();
  await nemesis;
  options.say('healing');
  await world.heal();
  const limitMs = options.healLimitMs ?? usualHealLimitMs;
  const giveUp = setTimeout(() => hopeless.abort(), limitMs);
  await clients;
  clearTimeout(giveUp);
  const violations: Violation[] = [];
  if (hopeless.signal.aborted) {
    violations.push({
      kind: 'unanswered',
      detail: `clients had no answer ${limitMs} ms after the last fault`,
    });
  }
  if (found === undefined) {
    options.say('reading everything back');
    await untilQuiet(world, limitMs);
    await readBack(world, model, log, rooms);
  }
  const history: History = {
    ...{ ops: log.ops, calls: model.journal },
    store: await world.look((sql) => readStore(sql, { scan: true })),
  };
  violations.push(...(found?.violations ?? checkHistory(history)));
  for (const death of world.deaths) violations.push({ kind: 'process-died', detail: death });
  for (const refusal of model.refusals) violations.push({ kind: 'model-refused', detail: refusal });
  if (found === undefined) {
    const { code, output } = await world.fsck();
    if (code !== 0) violations.push({ kind: 'fsck', detail: `exit code ${code}: ${output}` });
  }
  const seconds = (performance.now() - startMs) / 1_000;
  return reportOf({
    ...{ options, plan, history, violations, spans, seconds, signals: signals.sent },
    detectedAfterSeconds: found?.afterSeconds,
  });
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

const makeRooms = (): readonly Room[] =>
  kindsOfRooms.map(([name, graph, wild]) => room(name, graph, wild));

const writersOf = (name: string): number => (name.startsWith('single') ? 1 : 2);

function startClients(
  stage: Stage,
  rooms: readonly Room[],
  pace: Pace,
  choices: Random,
): readonly Promise<void>[] {
  const writers = rooms.flatMap((one) =>
    Array.from({ length: writersOf(one.name) }, (_, n) => {
      const name = `${one.name}-w${n}`;
      return writer(stage, { name, room: one, pace }, choices.split(name));
    }),
  );
  const viewers = [0, 1].map((n) =>
    viewer(stage, { name: `viewer-${n}`, rooms }, choices.split(`viewer-${n}`)),
  );
  return [...writers, ...viewers];
}

/** Plays the plan; a long pause of one process lasts beside the others. */
async function inflict(work: {
  readonly world: World;
  readonly plan: readonly Fault[];
  readonly choices: Random;
  readonly spans: FaultSpan[];
  readonly log: OpLog;
  readonly stopping: AbortSignal;
}): Promise<void> {
  const { world, plan, spans, log, stopping } = work;
  const beside = new Set<Promise<void>>();
  for (const [n, fault] of plan.entries()) {
    await pause(fault.afterMs, undefined, { signal: stopping }).catch(() => undefined);
    await untilProgress(log, stopping);
    if (stopping.aborted) break;
    if (lastsBeside(fault.kind) && beside.size > 0) continue;
    const span: FaultSpan = { kind: fault.kind, startMs: performance.now(), endMs: Infinity };
    spans.push(span);
    const over = world.apply(fault, work.choices.split(`fault-${n}`)).then(() => {
      span.endMs = performance.now();
    });
    if (!lastsBeside(fault.kind)) {
      await over;
      continue;
    }
    const tracked = over.finally(() => beside.delete(tracked));
    beside.add(tracked);
  }
  await Promise.all(beside);
}

/** A slow machine needs seconds to start a process: faults on faults before anything works again would prove nothing. */
const noProgressMs = 15_000;

async function untilProgress(log: OpLog, stopping: AbortSignal): Promise<void> {
  const since = performance.now();
  const works = (): boolean => (log.lastReplyMs ?? 0) > since;
  while (!works() && !stopping.aborted && performance.now() < since + noProgressMs) await pause(50);
}

/** Waits for the run's time, telling of its progress; may end early at a violation. */
async function untilTime(
  { seconds, say, untilViolation = false }: ChaosOptions,
  run: {
    readonly world: World;
    readonly model: JournaledModel;
    readonly log: OpLog;
    readonly startMs: number;
    readonly spans: readonly FaultSpan[];
  },
): Promise<{ readonly violations: Violation[]; readonly afterSeconds: number } | undefined> {
  const { world, model, log, startMs, spans } = run;
  const elapsed = (): number => performance.now() - startMs;
  let nextProgress = progressMs;
  while (elapsed() < seconds * 1_000) {
    await pause(Math.min(untilViolation ? liveCheckMs : progressMs, seconds * 1_000 - elapsed()));
    if (elapsed() >= nextProgress) {
      nextProgress += progressMs;
      const done = log.ops.filter(({ kind, status }) => kind === 'turn' && status === 200).length;
      say(
        `${Math.round(elapsed() / 1_000)} s: ${done} answers, ${model.journal.length} model calls, ${spans.length} faults`,
      );
    }
    if (!untilViolation) continue;
    const ops = [...log.ops];
    const store = await world.look((sql) => readStore(sql, { scan: false })).catch(() => undefined);
    if (store === undefined) continue; // the database is being restarted
    const violations = checkHistory({ ops, calls: [...model.journal], store }, 'live');
    if (violations.length > 0) return { violations, afterSeconds: elapsed() / 1_000 };
  }
  return undefined;
}

/** Every accepted turn settles by itself; one that does not is found by the checker. */
async function untilQuiet(world: World, limitMs: number): Promise<void> {
  const end = performance.now() + limitMs;
  while (performance.now() < end) {
    if ((await world.look(openTurns)) === 0) return;
    await pause(200);
  }
}

/** How many settled turns are asked for again by their keys; each is one request. */
const maxReplays = 60;

async function readBack(
  world: World,
  model: JournaledModel,
  log: OpLog,
  rooms: readonly Room[],
): Promise<void> {
  const [gateway = ''] = world.gateways;
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
