/** Composition root of `everthread dev`: Temporal dev server, storage, gateway and worker in one process. */
import { homedir } from 'node:os';
import path from 'node:path';
import type { Logger } from 'pino';
import { checkPort } from '../api/server.js';
import type { Config } from '../config/config.js';
import { ensureDataFolder } from '../config/data-folder.js';
import { stack } from '../config/stack.js';
import type { Stack } from '../config/stack.js';
import { lockInstance } from '../storage/lock-sqlite.js';
import type { StorageTarget } from '../storage/open.js';
import { resolveTemporalCli, temporalCacheFolder } from '../temporal/cli-resolver.js';
import { keepDevServer } from '../temporal/dev-server-keeper.js';
import type { TemporalSettings } from '../temporal/settings.js';

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

/** The Temporal server to use, once it answers. One of ours that dies is started again. */
export interface FoundTemporal {
  readonly kind: Config['temporal']['kind'];
  readonly settings: TemporalSettings;
  readonly uiUrl: string | undefined;
}

/** Starts everything; what was started is stopped again, in reverse order, when a later part fails. */
export async function startDev(config: Config, options: DevOptions): Promise<Dev> {
  const parts = stack();
  let starting: Promise<unknown> | undefined;
  try {
    ensureDataFolder(config.dataFolder);
    await checkPort(config);
    const target = lockedTarget(config, parts); // before Temporal starts: two instances must not share its file
    const { booting, answering } = startTemporal(config, options, parts);
    starting = answering;
    await booting;
    // The SDKs take more than a second of CPU to load: the server boots on the other core meanwhile.
    const { startParts } = await import('./dev-parts.js');
    return await startParts(config, { ...options, target, temporal: answering, parts });
  } catch (error) {
    await Promise.allSettled([starting]); // what is still starting is then among the parts
    return await parts.fail(error);
  }
}

/** The SQLite file's lock, which dies with this process; other storages need none. */
function lockedTarget(config: Config, parts: Stack): StorageTarget {
  if (config.storage.kind !== 'sqlite') return config.storage;
  const lock = lockInstance(config.storage.path);
  return { ...config.storage, lock: parts.add(lock, () => lock.release()) };
}

/** `booting` resolves when nothing of ours is needed for the server to come up, or it has failed. */
function startTemporal(
  config: Config,
  options: DevOptions,
  parts: Stack,
): { readonly booting: Promise<unknown>; readonly answering: Promise<FoundTemporal> } {
  const { temporal } = config;
  if (temporal.kind === 'external') {
    const answering = import('../temporal/environment.js').then(({ temporalFromEnvironment }) => {
      const settings = temporalFromEnvironment(temporal.env);
      if (settings === undefined) throw new Error('TEMPORAL_ADDRESS names no server.');
      return { kind: temporal.kind, settings, uiUrl: undefined };
    });
    return { booting: Promise.allSettled([answering]), answering };
  }
  let spawned: () => void = () => undefined;
  const spawn = new Promise<void>((resolve) => (spawned = resolve));
  const answering = startDevTemporal(
    { ...config, temporal },
    { ...options, onSpawn: spawned },
    parts,
  );
  return { booting: Promise.race([spawn, Promise.allSettled([answering])]), answering };
}

async function startDevTemporal(
  config: Config & { readonly temporal: Extract<Config['temporal'], { kind: 'dev' }> },
  { log, onProgress, onSpawn }: DevOptions & { readonly onSpawn: () => void },
  parts: Stack,
): Promise<FoundTemporal> {
  const { temporal, namespace } = config;
  const cli = await resolveTemporalCli({
    explicitPath: temporal.cliPath,
    searchPath: temporal.searchPath,
    cacheFolder: temporalCacheFolder(temporal.xdgCacheHome, homedir()),
    onProgress,
  });
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
      onSpawn,
    },
    {
      onEnd: (reason) => log.warn(`The Temporal dev server ended (${reason}); starting it again.`),
      onRestart: () => log.info('The Temporal dev server runs again.'),
      onFailure: (error) => log.error({ err: error }, 'The Temporal dev server does not start.'),
    },
  );
  parts.add(server, () => server.stop());
  const { address, uiUrl } = server;
  return { kind: temporal.kind, settings: { address, namespace, security: {} }, uiUrl };
}
