/** Composition root of `everthread gateway`: HTTP on PostgreSQL and an existing Temporal. */
import type { Logger } from 'pino';
import type { Config } from '../config/config.js';
import { openMetrics } from '../metrics/metrics.js';
import { openStoragePatiently } from '../storage/open.js';
import { postgresRelay } from '../storage/relay-postgres.js';
import { watchStore } from '../storage/store-watch.js';
import { openTemporal } from '../temporal/connection.js';
import { temporalFromEnvironment } from '../temporal/environment.js';
import { watchQueues } from '../temporal/queue-states.js';
import { installRuntime } from '../temporal/runtime.js';
import { temporalWaker } from '../temporal/waker.js';
import { openTracing } from '../tracing/tracing.js';
import { servedNames } from '../worker/graphs.js';
import { listenEarly } from './gateway-side.js';
import { stack } from '../config/stack.js';

export interface RunningGateway {
  readonly url: string;
  /** Rejects when the database has become another store. */
  readonly broken: Promise<never>;
  stop(): Promise<void>;
}

export interface GatewayOptions {
  readonly log: Logger;
  /** Ends the waiting for a database that is not there yet. */
  readonly signal: AbortSignal;
}

/**
 * Listens at once, and answers 503 until the database is there. Starts whether or not Temporal answers: accepted turns wait
 * in the database.
 */
export async function startGateway(
  config: Config,
  { log, signal }: GatewayOptions,
): Promise<RunningGateway> {
  const parts = stack();
  try {
    const metrics = await openMetrics(config.metrics, log);
    parts.add(metrics, () => metrics.close());
    const tracing = await openTracing(config.tracing, log);
    parts.add(tracing, () => tracing.close());
    installRuntime((level, line) => log[level](line), metrics.sdkAddress);
    const { storage: target, temporal } = config;
    if (target.kind !== 'postgres' || temporal.kind !== 'external') {
      throw new Error('A gateway of its own needs PostgreSQL and TEMPORAL_ADDRESS.');
    }
    const settings = temporalFromEnvironment(temporal.env);
    if (settings === undefined) throw new Error('TEMPORAL_ADDRESS names no server.');
    const graphs = await servedNames(config.graphConfig, (what) => log.warn(what));
    const early = await listenEarly(config, log);
    parts.add(early, () => early.close());
    const opened = await openStoragePatiently(target, {
      ...{ autoMigrate: config.autoMigrate, signal },
      onWaiting: (reason) => log.warn(`waiting for PostgreSQL: ${reason.message}`),
    });
    parts.add(opened, () => opened.close());
    metrics.countOpenTurns(opened.turns);
    const storage = tracing.storage(metrics.storage(opened));
    const { store } = storage;
    const relay = metrics.relay(
      await postgresRelay({
        url: target.url,
        store,
        onTrouble: (what) => log.warn(what),
        observer: metrics.queue,
      }),
    );
    parts.add(relay, () => relay.close());
    const link = openTemporal({ ...settings, interceptors: tracing.client });
    parts.add(link, () => link.close());
    const { taskQueue } = config;
    const wake = temporalWaker(link, { taskQueue, store });
    const queues = watchQueues(link, { taskQueue, places: graphs.places });
    metrics.countQueues(queues);
    early.serve({ storage, relay, wake, graphs, queues, temporal: link, log, metrics, tracing });
    parts.add(early, () => early.close()); // requests end before what they need
    const watch = watchStore(storage);
    parts.add(watch, () => watch.stop());
    return { url: early.url, broken: watch.replaced, stop: () => parts.stop() };
  } catch (error) {
    return await parts.fail(error);
  }
}
