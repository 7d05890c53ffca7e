/** Composition root of `everthread worker`: graphs on PostgreSQL and an existing Temporal. */
import type { Logger } from 'pino';
import type { Config } from '../config/config.js';
import { openMetrics } from '../metrics/metrics.js';
import { openStoragePatiently } from '../storage/open.js';
import { postgresRelay } from '../storage/relay-postgres.js';
import { connectTemporalPatiently, openTemporal } from '../temporal/connection.js';
import type { TemporalConnection } from '../temporal/connection.js';
import { temporalFromEnvironment } from '../temporal/environment.js';
import { installRuntime } from '../temporal/runtime.js';
import type { TemporalSettings } from '../temporal/settings.js';
import { temporalWaker } from '../temporal/waker.js';
import { openTracing } from '../tracing/tracing.js';
import { stack, type Stack } from '../config/stack.js';
import { composeWorker } from './composed-worker.js';
import { watchDeployment } from './deployment-watch.js';
import { loadGraphs } from './graphs.js';

export interface RunningWorker {
  readonly graphs: readonly string[];
  /** Task queues that it serves. */
  readonly queues: readonly string[];
  /** Rejects when the worker broke. */
  readonly done: Promise<void>;
  /** Drains: running turns stop at their next superstep border and go on elsewhere. */
  stop(): Promise<void>;
}

export interface WorkerOptions {
  readonly log: Logger;
  /** Ends the waiting for a database or a Temporal that is not there yet. */
  readonly signal: AbortSignal;
}

export async function startWorker(config: Config, options: WorkerOptions): Promise<RunningWorker> {
  const parts = stack();
  const { log, signal } = options;
  try {
    const metrics = await openMetrics(config.metrics, log);
    parts.add(metrics, () => metrics.close());
    const tracing = await openTracing(config.tracing, log);
    parts.add(tracing, () => tracing.close());
    installRuntime((level, line) => log[level](line), metrics.sdkAddress);
    const { target, named } = servers(config);
    const settings = { ...named, interceptors: tracing.client };
    const opened = await openStoragePatiently(target, {
      ...{ autoMigrate: config.autoMigrate, signal },
      onWaiting: (reason) => log.warn(`waiting for PostgreSQL: ${reason.message}`),
    });
    parts.add(opened, () => opened.close());
    const storage = tracing.storage(metrics.storage(opened));
    const { store } = storage;
    const served = await loadGraphs(config, { log, memory: Promise.resolve(storage.memory) });
    const relay = metrics.relay(
      await postgresRelay({
        url: target.url,
        store,
        onTrouble: (what) => log.warn(what),
        observer: metrics.queue,
      }),
    );
    parts.add(relay, () => relay.close());
    const connection = await connected(settings, options, parts);
    const watched = { ...connection, turns: storage.turns, log };
    const build = await watchDeployment(watched, config.deployment);
    parts.add(build, () => build.stop());
    const { taskQueue } = config;
    const wake = temporalWaker(openTemporal(settings, connection), { taskQueue, store });
    const { done, replaced } = await composeWorker(
      { storage, relay, served, connection, wake, metrics, tracing, log },
      config,
      parts,
    );
    const { names: graphs, queues } = served;
    return { graphs, queues, done: Promise.race([done, replaced]), stop: () => parts.stop() };
  } catch (error) {
    return await parts.fail(error);
  }
}

/** The database and the Temporal that it needs. @throws Error when the settings name none */
function servers({ storage: target, temporal }: Config) {
  if (target.kind !== 'postgres' || temporal.kind !== 'external') {
    throw new Error('A worker of its own needs PostgreSQL and TEMPORAL_ADDRESS.');
  }
  const named = temporalFromEnvironment(temporal.env);
  if (named === undefined) throw new Error('TEMPORAL_ADDRESS names no server.');
  return { target, named };
}

async function connected(
  settings: TemporalSettings,
  { log, signal }: WorkerOptions,
  parts: Stack,
): Promise<TemporalConnection> {
  const onWaiting = (reason: Error): void => log.warn(`waiting for Temporal: ${reason.message}`);
  const connection = await connectTemporalPatiently(settings, { signal, onWaiting });
  return parts.add(connection, () => connection.close());
}
