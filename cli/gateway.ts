/** Composition root of `everthread gateway`: HTTP on PostgreSQL and an existing Temporal. */
import type { Logger } from 'pino';
import { checkPort } from '../api/server.js';
import type { Config } from '../config/config.js';
import { openStorage } from '../storage/open.js';
import { postgresRelay } from '../storage/relay-postgres.js';
import { watchStore } from '../storage/store-watch.js';
import { openTemporal } from '../temporal/connection.js';
import { temporalFromEnvironment } from '../temporal/environment.js';
import { installRuntime } from '../temporal/runtime.js';
import { temporalWaker } from '../temporal/waker.js';
import { servedNames } from '../worker/graphs.js';
import { startGatewaySide } from './gateway-side.js';
import { stack } from '../config/stack.js';

export interface RunningGateway {
  readonly url: string;
  /** Rejects when the database has become another store. */
  readonly broken: Promise<never>;
  stop(): Promise<void>;
}

/** Starts whether or not Temporal answers: accepted turns wait in the database. */
export async function startGateway(config: Config, log: Logger): Promise<RunningGateway> {
  const parts = stack();
  installRuntime((level, line) => log[level](line));
  try {
    const { storage: target, temporal } = config;
    await checkPort(config);
    if (target.kind !== 'postgres' || temporal.kind !== 'external') {
      throw new Error('A gateway of its own needs PostgreSQL and TEMPORAL_ADDRESS.');
    }
    const settings = temporalFromEnvironment(temporal.env);
    if (settings === undefined) throw new Error('TEMPORAL_ADDRESS names no server.');
    const storage = await openStorage(target, config);
    parts.add(storage, () => storage.close());
    const { store } = storage;
    const relay = await postgresRelay({
      url: target.url,
      store,
      onTrouble: (what) => log.warn(what),
    });
    parts.add(relay, () => relay.close());
    const link = openTemporal(settings);
    parts.add(link, () => link.close());
    const wake = temporalWaker(link, { taskQueue: config.taskQueue, store });
    const graphs = await servedNames(config.graphConfig);
    const deps = { storage, relay, wake, graphs, temporal: link, log };
    const gateway = await startGatewaySide(deps, config);
    parts.add(gateway, () => gateway.close());
    const watch = watchStore(storage);
    parts.add(watch, () => watch.stop());
    return { url: gateway.url, broken: watch.replaced, stop: () => parts.stop() };
  } catch (error) {
    await parts.stop();
    throw error;
  }
}
