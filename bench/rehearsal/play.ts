/** What happens to the cast while the dialogues are played: faults between its hosts, and what an operator does. */
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../../test/support/until.js';
import type { PlayLog } from './clients.js';
import type { Host, Hosts } from './hosts.js';
import { addReplicas, operate } from './services.js';
import type { Cast, Replica } from './services.js';

export interface Stage {
  readonly cast: Cast;
  readonly database: Host;
  readonly temporal: Host;
  readonly log: PlayLog;
}

export interface Phase {
  readonly what: string;
  /** Packets between hosts are dropped, which needs hosts. */
  readonly partition?: true;
  readonly happen: (stage: Stage) => Promise<Outcome>;
}

export interface Outcome {
  /** From the end of a fault, or from a loss, until all is as before. */
  readonly healMs?: number;
  /** Beside the numbers, for the table. */
  readonly told?: string;
  /** What went wrong. */
  readonly wrong?: readonly string[];
}

/** Longer than the heartbeat time-out of 5 s, the query time-out of 6 s and two rounds of the relay's look at its connection. */
const partitionMs = 15_000;
const calmMs = 12_000;
/** A worker that came takes its share within this, or something is wrong. */
const shareMs = 15_000;

/** The build that all begin with, and the one that they are upgraded to. */
export const firstBuild = 'build-a';
const nextBuild = 'build-b';

export const phases: readonly Phase[] = [
  { what: 'calm', happen: calm },
  {
    what: 'worker-1 | database',
    partition: true,
    happen: (stage) => partedWorker(stage, 0, stage.database),
  },
  {
    what: 'worker-2 | temporal',
    partition: true,
    happen: (stage) => partedWorker(stage, 1, stage.temporal),
  },
  { what: 'gateway-1 | database', partition: true, happen: partedGateway },
  { what: 'worker-1 lost with its host', happen: loseWorker },
  { what: 'one more worker', happen: addWorker },
  {
    what: `rolling upgrade, ${firstBuild} to ${nextBuild}`,
    happen: (stage) => rollTo(stage, nextBuild),
  },
  { what: `rollback to ${firstBuild}`, happen: (stage) => rollTo(stage, firstBuild) },
];

/** Turns go to the workers of this build from now on. While many workers start, the server asks to be asked again later. */
export async function sendTurnsTo(cast: Cast, buildId: string): Promise<void> {
  const { service } = nth(cast, 'worker', 0);
  const ask = (): Promise<void> =>
    operate(cast, service, ['deploy', 'current', '--build-id', buildId]);
  await until(`${buildId} to be current`, async () => {
    try {
      await ask();
      return true;
    } catch (error) {
      if (String(error).includes('again later')) return undefined;
      throw error;
    }
  });
}

export const replicasOf = (cast: Cast, service: string): Replica[] =>
  cast.replicas.filter((replica) => replica.service.name === service);

async function calm(): Promise<Outcome> {
  await pause(calmMs);
  return {};
}

/** Healed when the worker settles a turn again. */
async function partedWorker({ cast }: Stage, n: number, other: Host): Promise<Outcome> {
  const worker = nth(cast, 'worker', n);
  const hosts = hostsOf(cast);
  hosts.partition(worker.host, other);
  await pause(partitionMs);
  hosts.heal(worker.host, other);
  const before = await settledBy(worker);
  const sinceMs = performance.now();
  await until(`${worker.name} to settle turns again`, async () =>
    (await settledBy(worker)) > before ? true : undefined,
  );
  return { healMs: performance.now() - sinceMs };
}

/** Healed when the gateway says that it takes turns. */
async function partedGateway({ cast, database }: Stage): Promise<Outcome> {
  const gateway = nth(cast, 'gateway', 0);
  const hosts = hostsOf(cast);
  hosts.partition(gateway.host, database);
  await pause(partitionMs);
  const noticed = !(await isReady(gateway));
  hosts.heal(gateway.host, database);
  const sinceMs = performance.now();
  await until(`${gateway.name} to be ready`, async () =>
    (await isReady(gateway)) ? true : undefined,
  );
  const wrong = noticed ? [] : [`${gateway.name} said that it was ready without its database`];
  return { healMs: performance.now() - sinceMs, wrong };
}

/** Its host vanishes from the network; where there are no hosts, its process is killed. Healed when what it ran is answered. */
async function loseWorker({ cast, log }: Stage): Promise<Outcome> {
  const worker = nth(cast, 'worker', 0);
  const atMs = performance.now();
  if (cast.hosts === undefined) await worker.proc()?.end('SIGKILL');
  else cast.hosts.lose(worker.host);
  cast.replicas.splice(cast.replicas.indexOf(worker), 1);
  const open = [...log.open];
  await until('the turns of that moment to be answered', () =>
    open.some((key) => log.open.has(key)) ? undefined : true,
  );
  return { healMs: performance.now() - atMs };
}

/** How soon it has its first turn, and how many of all it settles from then on. */
async function addWorker({ cast }: Stage): Promise<Outcome> {
  const before = nth(cast, 'worker', 0);
  const sinceMs = performance.now();
  const [added] = await addReplicas(cast, before.service, 1, firstBuild);
  if (added === undefined) return { wrong: ['no worker was added'] };
  const readyMs = performance.now();
  await until(`the first turn of ${added.name}`, async () =>
    (await settledBy(added)) > 0 ? true : undefined,
  );
  const firstMs = performance.now();
  const workers = replicasOf(cast, 'worker');
  const then = await Promise.all(workers.map(settledBy));
  await pause(shareMs);
  const now = await Promise.all(workers.map(settledBy));
  const settled = now.map((count, n) => count - (then[n] ?? 0));
  const all = settled.reduce((sum, count) => sum + count, 0);
  const share = (settled.at(-1) ?? 0) / all;
  const seconds = (fromMs: number, toMs: number): string => ((toMs - fromMs) / 1_000).toFixed(1);
  return {
    told: `ready after ${seconds(sinceMs, readyMs)} s, first turn settled ${seconds(readyMs, firstMs)} s later, then ${(share * 100).toFixed(0)} % of ${all} turns on ${workers.length} workers`,
    wrong: share > 0 ? [] : [`${added.name} took no turns`],
  };
}

/** Workers, then gateways, one after the other. The build takes the turns as soon as it has a worker; the others drain. */
async function rollTo({ cast }: Stage, buildId: string): Promise<Outcome> {
  const [first, ...others] = replicasOf(cast, 'worker');
  const wrong = await renewed(first, buildId);
  await sendTurnsTo(cast, buildId);
  for (const worker of others) wrong.push(...(await renewed(worker, buildId)));
  for (const gateway of replicasOf(cast, 'gateway')) wrong.push(...(await renewed(gateway)));
  return { wrong };
}

/** SIGTERM, the drain, the start of the next build. */
async function renewed(replica: Replica | undefined, buildId?: string): Promise<string[]> {
  const proc = replica?.proc();
  await proc?.end('SIGTERM');
  await replica?.start(buildId);
  const code = proc?.child.exitCode;
  return code === 0 ? [] : [`${replica?.name ?? 'nobody'} ended with ${code ?? 'a signal'}`];
}

function nth(cast: Cast, service: string, n: number): Replica {
  const found = replicasOf(cast, service)[n];
  if (found === undefined) throw new Error(`there is no ${service} number ${n + 1}`);
  return found;
}

function hostsOf({ hosts }: Cast): Hosts {
  if (hosts === undefined) throw new Error('a partition needs hosts');
  return hosts;
}

/** Turns that this process has settled since it started; 0 while it does not say. */
async function settledBy({ metrics }: Replica): Promise<number> {
  const page = await fetch(metrics)
    .then((answer) => answer.text())
    .catch(() => '');
  const counts = [...page.matchAll(/^everthread_turns_settled_total\{.*\} (\d+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

async function isReady({ host, port }: Replica): Promise<boolean> {
  const answer = await fetch(`http://${host.address}:${port}/readyz`).catch(() => undefined);
  return answer?.ok === true;
}
