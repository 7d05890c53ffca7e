/** One chaos run: a world, clients, a plan of faults; then healing, reading everything back, and the checker. */
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../support/until.js';
import { ask, OpLog } from './ask.js';
import { checkHistory } from './check-history.js';
import { usualPace, type Pace } from './clients.js';
import { canaryOf, type History, type Violation } from './history.js';
import { startJournaledModel, type JournaledModel } from './model.js';
import { lastsBeside, planFaults, shownPlan, usualMix, type Mix } from './plan.js';
import { random, type Random } from './random.js';
import { readStore, storeId } from './read-store.js';
import { reportOf, type FaultSpan, type Report } from './report.js';
import type { Stage } from './send-turn.js';
import { busy, makeRooms, readBack, startClients, untilQuiet } from './session.js';
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
  /** Looks at the history every few seconds and ends at a violation of one of these kinds: for builds that must have one. */
  readonly untilOneOf?: readonly string[] | undefined;
  readonly say: (line: string) => void;
}

/** Each fault of the single process ends it and takes seconds to start it again: more of them, and it does no work at all. */
const usualGapMs = { postgres: [800, 2_500], sqlite: [2_500, 8_000] } as const;
/** What a violation-free run is given to settle; a slow machine with a cold Temporal needs some of it. */
const usualHealLimitMs = 120_000;
/** A client that is told to give up has one request left to wait for. */
const stubbornMs = 30_000;
const liveCheckMs = 2_000;
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
    gapMs: options.gapMs ?? usualGapMs[options.storage],
    totalMs: options.seconds * 1_000,
  });
  options.say(`plan: ${shownPlan(plan)}`);
  const log = new OpLog();
  const rooms = makeRooms();
  const [stopping, hopeless] = [new AbortController(), new AbortController()];
  const stage: Stage = {
    ...{ log, gateways: world.gateways, busy: new Set<string>() },
    ...{ stopping: stopping.signal, hopeless: hopeless.signal },
  };
  const signals = { sent: 0 };
  const startMs = performance.now();
  const store = await world.look(storeId);
  const clients = Promise.all([
    ...startClients(stage, rooms, options.pace ?? usualPace, choices),
    busy(
      stage,
      'signaller',
      signaller(
        stage,
        { address: world.temporalAddress, taskQueue: 'everthread', store, rooms },
        choices.split('signals'),
        signals,
      ),
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
  if (found !== undefined) hopeless.abort();
  const giveUp = setTimeout(() => hopeless.abort(), limitMs);
  const waiting = setInterval(
    () => options.say(`  waiting for ${[...stage.busy].join(' ')}; last: ${lastOf(log)}`),
    progressMs,
  );
  await Promise.race([clients, pause(limitMs + stubbornMs, undefined, { ref: false })]);
  clearTimeout(giveUp);
  clearInterval(waiting);
  const violations: Violation[] = [];
  if (found === undefined && (stage.busy.size > 0 || hopeless.signal.aborted)) {
    violations.push({
      kind: 'unanswered',
      detail: `clients had no answer ${limitMs} ms after the last fault`,
    });
  }
  if (found === undefined) {
    options.say('reading everything back');
    await untilQuiet(world, limitMs);
    await readBack(world, log, rooms);
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

const lastOf = ({ ops }: OpLog): string =>
  ops
    .slice(-3)
    .map(
      ({ client, kind, thread, status, code = '' }) =>
        `${client} ${kind} ${thread} ${status} ${code}`,
    )
    .join('; ');

/** Of three workers, where pauses are all that happens: one goes on. */
const pausedAtOnce = 2;

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
  const onlyBeside = plan.every(({ kind }) => lastsBeside(kind));
  for (const [n, fault] of plan.entries()) {
    await pause(fault.afterMs, undefined, { signal: stopping }).catch(() => undefined);
    await untilProgress(log, stopping);
    if (stopping.aborted) break;
    if (onlyBeside) while (beside.size >= pausedAtOnce) await Promise.race(beside);
    else if (lastsBeside(fault.kind) && beside.size > 0) continue;
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
  { seconds, say, untilOneOf }: ChaosOptions,
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
    const lookMs = untilOneOf === undefined ? progressMs : liveCheckMs;
    await pause(Math.min(lookMs, seconds * 1_000 - elapsed()));
    if (elapsed() >= nextProgress) {
      nextProgress += progressMs;
      const done = log.ops.filter(({ kind, status }) => kind === 'turn' && status === 200).length;
      say(
        `${Math.round(elapsed() / 1_000)} s: ${done} answers, ${model.journal.length} model calls, ${spans.length} faults`,
      );
    }
    if (untilOneOf === undefined) continue;
    // Before the store is read: what they tell of must be there.
    const [ops, calls] = [[...log.ops], [...model.journal]];
    const store = await world.look((sql) => readStore(sql, { scan: false })).catch(() => undefined);
    if (store === undefined) continue; // the database is being restarted
    const violations = checkHistory({ ops, calls, store }, 'live');
    const afterSeconds = elapsed() / 1_000;
    if (violations.some(({ kind }) => untilOneOf.includes(kind)))
      return { violations, afterSeconds };
  }
  return undefined;
}
