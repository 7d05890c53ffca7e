/** The worker's half of a process as `everthread worker` and `dev` both compose it: worker side, and the watch over its store. */
import type { Logger } from 'pino';
import type { Config } from '../config/config.js';
import type { Stack } from '../config/stack.js';
import type { Relay } from '../contracts/frames.js';
import { allListening } from '../contracts/run-event.js';
import type { Waker } from '../contracts/waker.js';
import type { Metrics } from '../metrics/metrics.js';
import type { Storage } from '../storage/port.js';
import { watchStore } from '../storage/store-watch.js';
import type { TemporalConnection } from '../temporal/connection.js';
import type { Tracing } from '../tracing/tracing.js';
import { placesOf, type LoadedGraphs } from './graphs.js';
import { startWorkerSide } from './worker-side.js';

export interface ComposedWorkerDeps {
  readonly storage: Storage;
  readonly relay: Relay;
  readonly served: LoadedGraphs;
  readonly connection: Pick<TemporalConnection, 'native' | 'namespace'>;
  readonly wake: Waker;
  readonly metrics: Pick<Metrics, 'runs'>;
  readonly tracing: Pick<Tracing, 'runs' | 'worker'>;
  readonly log: Logger;
}

export interface ComposedWorker {
  /** Ends when the worker has stopped; rejects when it broke. */
  readonly done: Promise<void>;
  /** Rejects when the database has become another store. */
  readonly replaced: Promise<never>;
}

/** What it starts is added to `parts`. */
export async function composeWorker(
  deps: ComposedWorkerDeps,
  config: Config,
  parts: Stack,
): Promise<ComposedWorker> {
  const { storage, relay, served, connection, wake, metrics, tracing, log } = deps;
  const { native, namespace } = connection;
  const worker = await startWorkerSide(
    {
      ...{ storage, relay, graphs: served.graphs, connection: native, log },
      wake: (turn) => wake.wake(turn, { start: true }),
      listen: allListening(metrics.runs, tracing.runs),
      interceptors: tracing.worker,
    },
    { ...config, ...placesOf(served), namespace },
  );
  parts.add(worker, () => worker.stop());
  const watch = watchStore(storage);
  parts.add(watch, () => watch.stop());
  return { done: worker.done, replaced: watch.replaced };
}
