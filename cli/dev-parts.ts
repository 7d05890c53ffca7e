/** The parts of `everthread dev` that need the SDKs: storage, graphs, worker, gateway. */
import type { Config } from '../config/config.js';
import { allStarted } from '../config/stack.js';
import type { Stack } from '../config/stack.js';
import { workflowIdOf } from '../contracts/protocol.js';
import type { TurnWake, Waker } from '../contracts/waker.js';
import type { LoadedGraph } from '../engine/project/types.js';
import { openMetrics } from '../metrics/metrics.js';
import { openStorage } from '../storage/open.js';
import type { StorageTarget } from '../storage/open.js';
import type { Storage } from '../storage/port.js';
import { localRelay } from '../storage/relay-local.js';
import { connectTemporalPatiently, openTemporal } from '../temporal/connection.js';
import type { TemporalConnection, TemporalLink } from '../temporal/connection.js';
import { freeStarted } from '../temporal/predecessor.js';
import { watchQueues } from '../temporal/queue-states.js';
import { installRuntime } from '../temporal/runtime.js';
import { temporalWaker } from '../temporal/waker.js';
import { openTracing, type Tracing } from '../tracing/tracing.js';
import { composeWorker } from '../worker/composed-worker.js';
import { loadGraphs } from '../worker/graphs.js';
import { takeOver } from '../worker/take-over.js';
import type { Dev, DevOptions, FoundTemporal } from './dev.js';
import { startGatewaySide } from './gateway-side.js';

export interface DevParts extends DevOptions {
  readonly target: StorageTarget;
  readonly temporal: Promise<FoundTemporal>;
  readonly parts: Stack;
}

export async function startParts(config: Config, given: DevParts): Promise<Dev> {
  const { log, parts } = given;
  const metrics = await openMetrics(config.metrics, log);
  parts.add(metrics, () => metrics.close());
  const tracing = await openTracing(config.tracing, log);
  parts.add(tracing, () => tracing.close());
  installRuntime((level, line) => log[level](line), metrics.sdkAddress);
  const opening = openStorage(given.target, config);
  const [temporal, opened, served] = await allStarted([
    given.temporal.then((found) => connected(found, tracing.client, parts)),
    opening.then((storage) => parts.add(storage, () => storage.close())),
    loadGraphs(config, { log, memory: opening.then(({ memory }) => memory) }),
  ]);
  const link = openTemporal(temporal.settings, temporal.connection);
  const relay = metrics.relay(localRelay());
  const storage = tracing.storage(metrics.storage(opened));
  metrics.countOpenTurns(opened.turns);
  const graphs = new Map(served.graphs);
  const { taskQueue } = config;
  const wake = temporalWaker(link, { taskQueue, store: storage.store, onlyWorker: true });
  // The file's lock says that whoever worked on it is dead; another storage may have workers elsewhere.
  if (given.target.kind === 'sqlite') await goOn({ storage, wake, link, log });
  const { connection } = temporal;
  const { done, replaced } = await composeWorker(
    { storage, relay, served: { ...served, graphs }, connection, wake, metrics, tracing, log },
    config,
    parts,
  );
  await reloading(config, { graphs, log }, parts);
  const worked = done.then(() => new Promise<never>(() => undefined));
  const broken = Promise.race([worked, replaced]);
  broken.catch(() => undefined); // whoever waits is told; nobody need wait
  const queues = watchQueues(link, { taskQueue, places: served.places });
  metrics.countQueues(queues);
  const gateway = await startGatewaySide(
    { storage, relay, wake, graphs: served, queues, temporal: link, log, metrics, tracing },
    config,
  );
  parts.add(gateway, () => gateway.close());
  return {
    ready: { gatewayUrl: gateway.url, uiUrl: temporal.uiUrl, graphs: served.names },
    broken,
    stop: () => parts.stop(),
  };
}

async function goOn(given: {
  readonly storage: Storage;
  readonly wake: Waker;
  readonly link: TemporalLink;
  readonly log: DevOptions['log'];
}): Promise<void> {
  const { storage, wake, link, log } = given;
  const idOf = ({ thread }: TurnWake): string => workflowIdOf({ ...thread, store: storage.store });
  await takeOver({
    claims: storage.claims,
    free: (turn) => link.call((client) => freeStarted(client, idOf(turn))),
    wake: (turn) => wake.wake(turn, { start: true }),
    log,
  });
}

/** Only where a project is served; the watcher is loaded only then. */
async function reloading(
  { graphConfig }: Config,
  served: { readonly graphs: Map<string, LoadedGraph>; readonly log: DevOptions['log'] },
  parts: Stack,
): Promise<void> {
  if (graphConfig === null) return;
  const { reloadOnSave } = await import('../worker/reload.js');
  const watching = reloadOnSave({ ...served, file: graphConfig });
  parts.add(watching, () => watching.close());
}

/** Our own server that died again at once runs again within seconds, on a machine that is overrun within a minute. */
const restartLimitMs = 60_000;

async function connected(
  found: FoundTemporal,
  interceptors: Tracing['client'],
  parts: Stack,
): Promise<FoundTemporal & { readonly connection: TemporalConnection }> {
  const connection = await connectTemporalPatiently(
    { ...found.settings, interceptors },
    { limitMs: found.kind === 'dev' ? restartLimitMs : 0 },
  );
  parts.add(connection, () => connection.close());
  return { ...found, connection };
}
