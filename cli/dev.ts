/** Composition root of `everthread dev`: Temporal dev server, storage, gateway and worker in one process. */
import { homedir } from 'node:os';
import path from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../config/config.js';
import { lockInstance } from '../storage/lock-sqlite.js';
import { openStorage } from '../storage/open.js';
import type { StorageTarget } from '../storage/open.js';
import { localRelay } from '../storage/relay-local.js';
import { resolveTemporalCli, temporalCacheFolder } from '../temporal/cli-resolver.js';
import { connectTemporal, openTemporal } from '../temporal/connection.js';
import type { TemporalConnection, TemporalLink } from '../temporal/connection.js';
import { keepDevServer } from '../temporal/dev-server-keeper.js';
import { temporalFromEnvironment } from '../temporal/environment.js';
import { installRuntime } from '../temporal/runtime.js';
import type { TemporalSettings } from '../temporal/settings.js';
import { temporalWaker } from '../temporal/waker.js';
import { loadGraphs } from '../worker/graphs.js';
import { startWorkerSide } from '../worker/worker-side.js';
import { startGatewaySide } from './gateway-side.js';
import { allStarted, stack } from '../config/stack.js';
import type { Stack } from '../config/stack.js';

export interface DevReady {
  readonly gatewayUrl: string;
  /** Undefined with an external Temporal, whose Web UI we do not know. */
  readonly uiUrl: string | undefined;
  readonly graphs: readonly string[];
}

export interface Dev {
  readonly ready: DevReady;
  /** Rejects when the worker broke. */
  readonly broken: Promise<never>;
  stop(): Promise<void>;
}

export interface DevOptions {
  readonly log: Logger;
  readonly onProgress: (text: string) => void;
}

/** Starts everything; what was started is stopped again, in reverse order, when a later part fails. */
export async function startDev(config: Config, options: DevOptions): Promise<Dev> {
  const parts = stack();
  installRuntime((level, line) => options.log[level](line));
  try {
    return await startParts(config, options, parts);
  } catch (error) {
    await parts.stop();
    throw error;
  }
}

async function startParts(config: Config, options: DevOptions, parts: Stack): Promise<Dev> {
  const { log } = options;
  const target = lockedTarget(config, parts); // before Temporal starts: two instances must not share its file
  let onBroken: (error: Error) => void = () => undefined;
  const broken = new Promise<never>((_, reject) => (onBroken = reject));
  broken.catch(() => undefined); // whoever waits is told; nobody need wait
  const [temporal, storage, served] = await allStarted([
    startTemporal(config, options, parts),
    openStorage(target, config).then((opened) => parts.add(opened, () => opened.close())),
    loadGraphs(config, log),
  ]);
  const { connection, uiUrl, link } = temporal;
  const relay = localRelay();
  const wake = temporalWaker(link, { taskQueue: config.taskQueue, store: storage.store });
  const worker = await startWorkerSide(
    {
      storage,
      relay,
      graphs: served.graphs,
      connection: connection.native,
      wake: (turn) => wake.wake(turn, { start: true }),
      log,
    },
    config,
  );
  parts.add(worker, () => worker.stop());
  worker.done.catch(onBroken);
  const gateway = await startGatewaySide(
    { storage, relay, wake, graphs: served, temporal: link, log },
    config,
  );
  parts.add(gateway, () => gateway.close());
  return {
    ready: { gatewayUrl: gateway.url, uiUrl, graphs: served.names },
    broken,
    stop: () => parts.stop(),
  };
}

/** The SQLite file's lock, which dies with this process; other storages need none. */
function lockedTarget(config: Config, parts: Stack): StorageTarget {
  if (config.storage.kind !== 'sqlite') return config.storage;
  const lock = lockInstance(config.storage.path);
  return { ...config.storage, lock: parts.add(lock, () => lock.release()) };
}

interface Temporal {
  readonly connection: TemporalConnection;
  readonly link: TemporalLink;
  readonly uiUrl: string | undefined;
}

/** The cluster that the environment names, or a dev server of ours. */
async function startTemporal(config: Config, options: DevOptions, parts: Stack): Promise<Temporal> {
  const { temporal, namespace } = config;
  const connected = async (settings: TemporalSettings): Promise<Omit<Temporal, 'uiUrl'>> => {
    const connection = await connectTemporal(settings);
    parts.add(connection, () => connection.close());
    return { connection, link: openTemporal(settings, connection) };
  };
  if (temporal.kind === 'external') {
    const settings = temporalFromEnvironment(temporal.env);
    if (settings === undefined) throw new Error('TEMPORAL_ADDRESS names no server.');
    return { ...(await connected(settings)), uiUrl: undefined };
  }
  const cli = await resolveTemporalCli({
    explicitPath: temporal.cliPath,
    searchPath: temporal.searchPath,
    cacheFolder: temporalCacheFolder(temporal.xdgCacheHome, homedir()),
    onProgress: options.onProgress,
  });
  const { log } = options;
  const server = await keepDevServer(
    {
      cliPath: cli.path,
      port: temporal.port,
      uiPort: temporal.uiPort,
      // Threads of a store in memory mean nothing to the next process.
      dbFile:
        config.storage.kind === 'memory' ? undefined : path.join(config.dataFolder, 'temporal.db'),
      logFile: path.join(config.dataFolder, 'temporal.log'),
      pidFile: path.join(config.dataFolder, 'temporal.pid'),
      namespace,
    },
    {
      onEnd: (reason) => log.warn(`The Temporal dev server ended (${reason}); starting it again.`),
      onRestart: () => log.info('The Temporal dev server runs again.'),
      onFailure: (error) => log.error({ err: error }, 'The Temporal dev server does not start.'),
    },
  );
  parts.add(server, () => server.stop());
  const { address, uiUrl } = server;
  return { ...(await connected({ address, namespace, security: {} })), uiUrl };
}
