/** A real Temporal server on PostgreSQL: the compose file's `temporal-schema` and `temporal`, as processes. */
import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { isPortFree } from '../../temporal/ports.js';
import { goPrograms } from './go-programs.js';
import type { Building, Programs } from './go-programs.js';
import { startService } from './service-process.js';

const run = promisify(execFile);

/** @param image `temporalio/server:1.32.0`: the compose file pins the version */
export const temporalPrograms = (image: string, building: Building): Promise<Programs> => {
  const from = { module: 'go.temporal.io/server', version: image.split(':').at(-1) ?? '' };
  return goPrograms(
    [
      { ...from, name: 'temporal-server', main: './cmd/server' },
      { ...from, name: 'temporal-sql-tool', main: './cmd/tools/sql' },
    ],
    building,
  );
};

export interface RealTemporalOptions {
  /** Holds the two programs: {@link temporalPrograms}. */
  readonly programs: string;
  /** Takes the server's log. */
  readonly folder: string;
  /** Of the server, with a user that may create databases; what database it names does not matter. */
  readonly postgresUrl: string;
  /** The compose file's variables of `temporal`; addresses and ports in them are replaced. */
  readonly env: Readonly<Record<string, string>>;
  /** What the server binds to and others reach it at. */
  readonly bindIp: string;
  readonly log: (line: string) => void;
  /** Stands in front of each command, so that it runs on a host: `Host.inside`. */
  readonly inside?: readonly string[];
}

export interface RealTemporal {
  readonly address: string;
  /** Of the server's own metrics, `host:port`. */
  readonly metricsAddress: string;
  readonly pid: number;
  readonly logFile: string;
  stop(): Promise<void>;
}

/** Brings up its two databases, starts it and waits until it answers. */
export async function startRealTemporal(options: RealTemporalOptions): Promise<RealTemporal> {
  const { programs, folder, log, bindIp, inside = [] } = options;
  await mkdir(folder, { recursive: true });
  const ports = await freePorts();
  const env = temporalEnvironment(options, ports);
  let sinceMs = performance.now();
  const took = (): string => {
    const seconds = (performance.now() - sinceMs) / 1_000;
    sinceMs = performance.now();
    return `${seconds.toFixed(1)} s`;
  };
  await bringUpSchema(options, env);
  log(`temporal-schema: temporal and temporal_visibility are up to date, ${took()}`);
  const logFile = path.join(folder, 'temporal.log');
  const server = await startService({
    command: [...inside, path.join(programs, 'temporal-server'), 'start'],
    env: { ...outside(), ...env },
    logFile,
    answersAt: { host: bindIp, port: ports.FRONTEND_GRPC_PORT },
  });
  log(`temporal: listens after ${took()}`);
  return {
    address: `${bindIp}:${ports.FRONTEND_GRPC_PORT}`,
    metricsAddress: `${bindIp}:${ports.metrics}`,
    logFile,
    ...server,
  };
}

/** The file's own script, with the tool that the image would have. Twice is as good as once. */
async function bringUpSchema(
  { programs, inside = [] }: RealTemporalOptions,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const [command, ...args] = [...inside, 'sh', 'deploy/temporal/schema.sh'];
  const PATH = [programs, process.env.PATH ?? ''].join(path.delimiter);
  try {
    await run(command, args, { env: { ...outside(), ...env, PATH }, maxBuffer: 1e8 });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    const said = `${stdout}\n${stderr}`.trim().slice(-2_000);
    throw new Error(`temporal-schema failed: ${said}`, { cause: error });
  }
}

/** What each part of the server listens on besides the frontend's gRPC port. */
const listeners = [
  'FRONTEND_GRPC_PORT',
  'FRONTEND_MEMBERSHIP_PORT',
  'FRONTEND_HTTP_PORT',
  'MATCHING_GRPC_PORT',
  'MATCHING_MEMBERSHIP_PORT',
  'HISTORY_GRPC_PORT',
  'HISTORY_MEMBERSHIP_PORT',
  'WORKER_GRPC_PORT',
  'WORKER_MEMBERSHIP_PORT',
  'metrics',
] as const;
export type TemporalPorts = Readonly<Record<(typeof listeners)[number], number>>;

/** The server writes its ports into a table of its own, as a signed number of two bytes: a higher one ends it at its start. */
const highestPort = 32_767;

async function freePorts(): Promise<TemporalPorts> {
  const taken = new Set<number>();
  while (taken.size < listeners.length) {
    const port = randomInt(10_000, highestPort + 1);
    if (await isPortFree(port)) taken.add(port);
  }
  const ports = [...taken];
  return Object.fromEntries(listeners.map((name, n) => [name, ports[n]])) as TemporalPorts;
}

/**
 * The server's configuration is its environment, in the image as here: its binary holds the template. All is the file's,
 * but for where PostgreSQL is, what it binds to, and the path of the mounted file.
 */
export function temporalEnvironment(
  { env, postgresUrl, bindIp }: Pick<RealTemporalOptions, 'env' | 'postgresUrl' | 'bindIp'>,
  { metrics, ...ports }: TemporalPorts,
): Record<string, string> {
  const { hostname, port, username, password } = new URL(postgresUrl);
  const given = decodeURIComponent(password) || (env.POSTGRES_PWD ?? '');
  return {
    ...env,
    POSTGRES_SEEDS: hostname,
    DB_PORT: port === '' ? '5432' : port,
    POSTGRES_USER: decodeURIComponent(username),
    POSTGRES_PWD: given,
    SQL_PASSWORD: given,
    BIND_ON_IP: bindIp,
    TEMPORAL_BROADCAST_ADDRESS: bindIp,
    PROMETHEUS_ENDPOINT: `${bindIp}:${metrics}`,
    DYNAMIC_CONFIG_FILE_PATH: path.resolve('deploy/temporal/dynamic-config.yaml'),
    ...Object.fromEntries(Object.entries(ports).map(([name, value]) => [name, String(value)])),
  };
}

/** This shell's variables without those that would change what the file says. */
const outside = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(TEMPORAL_|POSTGRES_|SQL_|DB|VISIBILITY_|PG)/.test(name),
    ),
  );
