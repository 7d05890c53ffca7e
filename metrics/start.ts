/** Serves what a process counts, and gives the wrappers that count it. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Relay } from '../contracts/frames.js';
import type { QueueState } from '../contracts/task-queues.js';
import type { Storage } from '../storage/port.js';
import { liveTurns } from './live-turns.js';
import { createMeters, type Meters } from './meters.js';
import type { Metrics, MetricsPlace } from './metrics.js';
import { observedRelay } from './observed-relay.js';
import { observedRequests } from './observed-requests.js';
import { observedRuns } from './observed-runs.js';
import { observedStorage } from './observed-storage.js';

/** A scrape does not wait for the SDK's own numbers longer than this. */
const sdkAnswersMs = 2_000;

/** @throws Error that names the port when it is taken */
export async function startMetrics(place: MetricsPlace, sdkAddress: string): Promise<Metrics> {
  const meters = createMeters();
  const live = liveTurns(meters);
  const server = createServer((req, res) => {
    if (req.url?.split('?')[0] !== '/metrics' || req.method !== 'GET') {
      res.writeHead(404).end();
      return;
    }
    void page(meters, sdkAddress).then(
      (text) => res.setHeader('content-type', meters.registry.contentType).end(text),
      () => res.writeHead(500).end(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    const refused = (error: NodeJS.ErrnoException): void =>
      reject(new Error(explained(error, place), { cause: error }));
    server.once('error', refused).listen(place.port, place.host, resolve);
  });
  const { address, port } = server.address() as AddressInfo;
  return {
    url: `http://${address.includes(':') ? `[${address}]` : address}:${port}/metrics`,
    sdkAddress,
    storage: (storage: Storage) => observedStorage(storage, meters, live),
    relay: (relay: Relay) => observedRelay(relay, meters, live),
    requests: (app: RequestListener) => observedRequests(app, meters),
    runs: observedRuns(meters),
    queue: {
      sent: (lagMs) => meters.relayLag.observe(lagMs / 1000),
      dropped: () => meters.framesDropped.inc(),
    },
    countOpenTurns: (turns) => void meters.readings.push(openTurns(meters, turns)),
    countQueues: (queues) => void meters.readings.push(taskQueues(meters, queues)),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The SDK has a page of its own, on this machine only; names of both never meet (`everthread_`, `temporal_`). */
async function page(meters: Meters, sdkAddress: string): Promise<string> {
  const [own, sdk] = await Promise.all([ownPage(meters), sdkPage(sdkAddress)]);
  return own + sdk;
}

async function ownPage({ readings, registry }: Meters): Promise<string> {
  await Promise.all(readings.map(async (read) => read()));
  return await registry.metrics();
}

async function sdkPage(address: string): Promise<string> {
  try {
    const signal = AbortSignal.timeout(sdkAnswersMs);
    const answer = await fetch(`http://${address}/metrics`, { signal });
    return answer.ok ? await answer.text() : '';
  } catch {
    return ''; // no worker has begun yet, or the SDK is gone
  }
}

/** Read at each scrape. A database that is away shows as a gap, not as zero. */
const openTurns = (meters: Meters, turns: Pick<Storage['turns'], 'countOpen'>) => async () => {
  meters.openTurns.reset();
  meters.oldestOpen.reset();
  const counts = await turns.countOpen().catch(() => []);
  for (const { graph: name, status, count, oldestMs } of counts) {
    const labels = { graph: meters.graphLabel(name), status };
    meters.openTurns.set(labels, count);
    meters.oldestOpen.set(labels, Math.max(0, oldestMs) / 1000);
  }
};

/** A Temporal that is away shows as a gap, too. */
const taskQueues =
  (meters: Meters, queues: { states(): Promise<readonly QueueState[]> }) => async () => {
    meters.queueBacklog.reset();
    meters.queueWorkers.reset();
    for (const { name: queue, backlog, workers } of await queues.states().catch(() => [])) {
      meters.queueBacklog.set({ queue }, backlog);
      meters.queueWorkers.set({ queue }, workers);
    }
  };

function explained({ code, message }: NodeJS.ErrnoException, place: MetricsPlace): string {
  const where = `EVERTHREAD_METRICS_PORT ${place.port} on ${place.host}`;
  return code === 'EADDRINUSE' ? `${where} is in use.` : `${where}: ${message}`;
}
