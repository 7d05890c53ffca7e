/** What the composition roots know of metrics: wrappers that count, or that do nothing. */
import type { RequestListener } from 'node:http';
import type { Relay } from '../contracts/frames.js';
import type { ListenToRuns } from '../contracts/run-event.js';
import type { QueueState } from '../contracts/task-queues.js';
import type { Storage } from '../storage/port.js';
import type { QueueObserver } from '../storage/relay-queue.js';

export interface MetricsPlace {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
}

export interface Metrics {
  /** Where Prometheus reads; undefined when metrics are off. */
  readonly url: string | undefined;
  /** Where the Temporal SDK of this process shows its own, for this process to read. */
  readonly sdkAddress: string | undefined;
  storage(storage: Storage): Storage;
  relay(relay: Relay): Relay;
  requests(app: RequestListener): RequestListener;
  /** Hears runs; undefined when metrics are off. */
  readonly runs: ListenToRuns | undefined;
  readonly queue: QueueObserver | undefined;
  /** Shows how many turns of the store are open. Gateways do, so that a store is not asked by all. */
  countOpenTurns(turns: Pick<Storage['turns'], 'countOpen'>): void;
  /** Shows how much waits on each task queue, and who serves it. */
  countQueues(queues: { states(): Promise<readonly QueueState[]> }): void;
  close(): Promise<void>;
}

/** Off: every wrapper gives back what it was given. */
const noMetrics: Metrics = {
  url: undefined,
  sdkAddress: undefined,
  storage: (storage) => storage,
  relay: (relay) => relay,
  requests: (app) => app,
  runs: undefined,
  queue: undefined,
  countOpenTurns: () => undefined,
  countQueues: () => undefined,
  close: () => Promise.resolve(),
};

/** @throws Error that names the port when it is taken */
export async function openMetrics(
  place: MetricsPlace | null,
  log: { info(line: string): void },
): Promise<Metrics> {
  if (place === null) return noMetrics;
  const [{ startMetrics }, { freePort }] = await Promise.all([
    import('./start.js'),
    import('../temporal/ports.js'),
  ]);
  const metrics = await startMetrics(place, `127.0.0.1:${await freePort()}`);
  log.info(`metrics are at ${metrics.url ?? ''}`);
  return metrics;
}
