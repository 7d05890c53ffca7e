/** Settings (DESIGN 14): read once, resolved, all problems at once. What runs receives a `Config`, never the environment. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { resolveAgents } from './agents.js';
import type { AgentConfig } from './agents.js';
import { whyNotAFolder } from './data-folder.js';
import { resolveDeployment, type DeploymentConfig } from './deployment.js';
import { temporalVariables, unknownVariables } from './env.js';
import type { Environment } from './env.js';
import { resolveMetrics, type MetricsConfig } from './metrics.js';
import { ConfigError, settingReader } from './problems.js';
import type { SettingReader } from './problems.js';
import { resolveQueues, usualTaskQueue, type QueueConfig } from './queues.js';
import { resolveRequestLimits, type RequestLimits } from './request-limits.js';
import * as shape from './shapes.js';
import { resolveStorage, type StorageConfig } from './storage.js';
import { resolveSupportDocs } from './support-docs.js';
import { resolveTracing, type TracingConfig } from './tracing.js';
import { temporalCliPlaces } from './temporal-cli.js';
import type { TemporalCliPlaces } from './temporal-cli.js';
import { resolveTimes } from './times.js';
import type { Times } from './times.js';

/** The commands that need settings; `operate` stands for those that look after a store (fsck, backup, restore). */
export type Command = 'dev' | 'gateway' | 'worker' | 'migrate' | 'operate';

type TemporalConfig =
  /** `env`: the variables that the SDK's environment configuration reads (address, TLS, API key, profile). */
  | { readonly kind: 'external'; readonly env: Record<string, string | undefined> }
  /** A dev server of ours. Port 0 picks a free one. */
  | ({ readonly kind: 'dev'; readonly port: number; readonly uiPort: number } & TemporalCliPlaces);

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
type LogLevel = (typeof logLevels)[number];

export interface Config extends Times, QueueConfig {
  readonly command: Command;
  readonly host: string;
  readonly port: number;
  readonly allowRemote: boolean;
  readonly requestLimits: RequestLimits;
  readonly storage: StorageConfig;
  /** Folder of the SQLite file, the Temporal dev database and logs. */
  readonly dataFolder: string;
  readonly autoMigrate: boolean;
  readonly temporal: TemporalConfig;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly deployment: DeploymentConfig;
  /** The `langgraph.json` to serve; null serves the shipped graphs. */
  readonly graphConfig: string | null;
  /** `builtin`, or what `initChatModel` takes. */
  readonly model: string;
  /** Threads whose workflow a worker keeps in memory. */
  readonly cachedThreads: number;
  /** Of the shipped agents. */
  readonly agents: AgentConfig;
  /** Folder of the support agent's documents; null takes the shipped ones. */
  readonly supportDocs: string | null;
  /** Threads for graphs with `"isolation": "thread"`: null takes one for each core, and Node's own limit of memory. */
  readonly isolation: { readonly threads: number | null; readonly memoryMb: number | null };
  readonly metrics: MetricsConfig;
  readonly tracing: TracingConfig;
  readonly logLevel: LogLevel;
  /** Variables that look like ours and are not: worth a warning. */
  readonly unknownVariables: readonly string[];
}

export interface ConfigOptions {
  readonly command: Command;
  /** `--allow-remote` */
  readonly allowRemote?: boolean;
  /** Relative paths start here; the working directory unless given. */
  readonly cwd?: string;
}

/** Resolves all settings of a command. @throws {ConfigError} with every problem */
export function resolveConfig(env: Environment, options: ConfigOptions): Config {
  const { command, cwd = process.cwd() } = options;
  const reader = settingReader(env);
  const inFolder = (file: string): string => path.resolve(cwd, file);
  const dataFolder = resolveDataFolder(reader, command, inFolder);
  const config: Config = {
    command,
    ...resolveAddress(reader, options),
    requestLimits: resolveRequestLimits(reader),
    storage: resolveStorage(reader, command, (file) =>
      file === undefined ? path.join(dataFolder, 'everthread.db') : inFolder(file),
    ),
    dataFolder,
    autoMigrate: reader.read('EVERTHREAD_AUTO_MIGRATE', shape.flag, command === 'dev'),
    temporal: resolveTemporal(reader, env, command),
    namespace: reader.read('TEMPORAL_NAMESPACE', temporalName, 'default'),
    taskQueue: reader.read('EVERTHREAD_TASK_QUEUE', temporalName, usualTaskQueue),
    deployment: resolveDeployment(reader, command),
    graphConfig: resolveGraphConfig(reader, inFolder),
    model: reader.read('EVERTHREAD_MODEL', shape.model, 'builtin'),
    ...resolveQueues(reader, command),
    cachedThreads: reader.read('EVERTHREAD_CACHED_THREADS', shape.count(2, 100_000), usualCache),
    agents: resolveAgents(reader),
    supportDocs: resolveSupportDocs(reader, inFolder),
    ...resolveTimes(reader, { patientStop: command === 'worker' }),
    isolation: {
      threads: reader.read('EVERTHREAD_ISOLATION_THREADS', shape.count(1, 256), null),
      memoryMb: reader.read('EVERTHREAD_ISOLATION_MEMORY', shape.count(64, 65_536), null),
    },
    metrics: resolveMetrics(reader),
    tracing: resolveTracing(reader, command),
    logLevel: reader.read('LOG_LEVEL', shape.oneOf(...logLevels), 'info'),
    unknownVariables: unknownVariables(env),
  };
  if (reader.problems.length > 0) throw new ConfigError(reader.problems);
  return config;
}

/** A workflow takes about 60 kB of a worker's memory. */
const usualCache = 500;

/** Also what Temporal itself takes; no `@`, which separates the parts of our own ids. */
const temporalName = shape.word(/^[\w.-]{1,200}$/, '1-200 characters of A-Z a-z 0-9 . _ -');

/** Only `dev` keeps all of its files there; a file in the way is found now and not after a minute. */
function resolveDataFolder(
  reader: SettingReader,
  command: Command,
  inFolder: (file: string) => string,
): string {
  const folder = inFolder(reader.read('EVERTHREAD_DATA', shape.path, '.everthread'));
  const wrong = command === 'dev' ? whyNotAFolder(folder) : undefined;
  if (wrong !== undefined) {
    const allowed = 'a folder that this user may write to; it is made when it is missing';
    reader.refuse({ variable: 'EVERTHREAD_DATA', wrong, allowed });
  }
  return folder;
}

function resolveAddress(
  reader: SettingReader,
  { command, allowRemote: allowedByOption }: ConfigOptions,
): Pick<Config, 'host' | 'port' | 'allowRemote'> {
  const host = reader.read('HOST', shape.host, '127.0.0.1');
  const port = reader.read('PORT', shape.port, 8080);
  const allowedByVariable = reader.read('EVERTHREAD_ALLOW_REMOTE', shape.flag, false);
  const allowRemote = allowedByOption === true || allowedByVariable;
  const listens = command === 'dev' || command === 'gateway';
  if (listens && !allowRemote && !shape.isLoopback(host)) {
    reader.refuse({
      variable: 'HOST',
      wrong: `is ${JSON.stringify(host)}: others could reach the gateway, which has no authentication but a project's auth, and read and write every thread`,
      allowed:
        'a loopback address (127.0.0.1, ::1, localhost); any other only with --allow-remote or EVERTHREAD_ALLOW_REMOTE=true',
    });
  }
  return { host, port, allowRemote };
}

function resolveTemporal(
  reader: SettingReader,
  env: Environment,
  command: Command,
): TemporalConfig {
  const port = reader.read('EVERTHREAD_TEMPORAL_PORT', shape.port, 7233);
  const uiPort = reader.read('EVERTHREAD_TEMPORAL_UI_PORT', shape.port, 8233);
  const external = (['TEMPORAL_ADDRESS', 'TEMPORAL_PROFILE', 'TEMPORAL_CONFIG_FILE'] as const).some(
    reader.given,
  );
  if (external) {
    reader.read('TEMPORAL_ADDRESS', shape.hostAndPort, undefined);
    return { kind: 'external', env: temporalVariables(env) };
  }
  if (command === 'gateway' || command === 'worker') {
    reader.refuse({
      variable: 'TEMPORAL_ADDRESS',
      wrong: `is not set, and ${command} starts no Temporal server of its own`,
      allowed: 'host:port of a Temporal server (or a TEMPORAL_PROFILE of a TEMPORAL_CONFIG_FILE)',
    });
  }
  if (port !== 0 && port === uiPort) {
    reader.refuse({
      variable: 'EVERTHREAD_TEMPORAL_UI_PORT',
      wrong: `is ${uiPort}, the same as EVERTHREAD_TEMPORAL_PORT`,
      allowed: 'another port',
    });
  }
  return { kind: 'dev', port, uiPort, ...temporalCliPlaces(env) };
}

function resolveGraphConfig(
  reader: SettingReader,
  inFolder: (file: string) => string,
): string | null {
  const given = reader.read('EVERTHREAD_CONFIG', shape.path, undefined);
  const file = inFolder(given ?? 'langgraph.json');
  if (existsSync(file)) return file;
  if (given !== undefined) {
    reader.refuse({
      variable: 'EVERTHREAD_CONFIG',
      wrong: `is ${JSON.stringify(given)}, and there is no file ${file}`,
      allowed: 'the path of a langgraph.json',
    });
  }
  return null;
}
