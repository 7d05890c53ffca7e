/** The worker's half of a process: Temporal worker and sweeper over a storage, a relay and the graphs. */
import type { NativeConnection, WorkerInterceptors } from '@temporalio/worker';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { databaseSight } from '../activities/database-sight.js';
import { liveRuns } from '../activities/live-runs.js';
import { loopWatch } from '../activities/loop-watch.js';
import type { DeploymentConfig } from '../config/deployment.js';
import type { Placement } from '../activities/placement.js';
import type { Relay } from '../contracts/frames.js';
import type { ListenToRuns } from '../contracts/run-event.js';
import { mainQueue, taskQueueOf } from '../contracts/task-queues.js';
import type { ProjectConfig } from '../engine/project/project-config.js';
import type { LoadedGraph } from '../engine/project/types.js';
import type { Storage } from '../storage/port.js';
import { threadRuns, type ThreadRuns } from '../temporal/thread-runs.js';
import { startEraser } from './eraser.js';
import { startExpirer, threadTtlOf } from './expirer.js';
import { startSweeper } from './sweeper.js';
import type { SweeperDeps } from './sweeper.js';
import { startStoreSweeper } from './graph-stores.js';
import { loadProjectStore, plainStore } from './project-store.js';
import { runnersFor } from './runners.js';
import type { IsolationSettings } from './runners.js';
import { startQueueWorkers } from './queue-workers.js';

/** Made by `npm run build`, beside the compiled code. */
export const builtBundlePath = fileURLToPath(new URL('../workflow-bundle.js', import.meta.url));

export interface WorkerSideDeps {
  readonly storage: Storage;
  readonly relay: Relay;
  readonly graphs: ReadonlyMap<string, LoadedGraph>;
  readonly connection: NativeConnection;
  readonly wake: SweeperDeps['wake'];
  /** Traces and metrics of runs; see `RunTurnDeps.listen`. */
  readonly listen?: ListenToRuns | undefined;
  readonly interceptors?: WorkerInterceptors;
  readonly log: Logger;
}

export interface WorkerSideSettings {
  readonly namespace: string;
  readonly taskQueue: string;
  /** Short names; the main queue alone unless given. */
  readonly queues?: readonly string[];
  /** Short name of the queue of each graph that does not live on the main one. */
  readonly places?: ReadonlyMap<string, string>;
  /** See `Place.waitMs`. */
  readonly placeWaitMs?: number;
  readonly turnsAtOnce: number;
  readonly turnTimeoutMs: number;
  readonly stepTimeoutMs: number;
  readonly threadIdleMs: number | null;
  readonly cachedThreads?: number;
  readonly drainMs: number;
  readonly sweep: { readonly everyMs: number; readonly quietMs: number };
  readonly bundlePath?: string;
  /** The langgraph.json of the graphs; threads load it again. */
  readonly graphConfig?: string | null;
  readonly isolation?: IsolationSettings;
  /** Absent, or without a build id: unversioned. */
  readonly deployment?: DeploymentConfig;
}

export interface WorkerSide {
  readonly done: Promise<void>;
  /** Threads whose workflow this process keeps in memory. */
  cached(): number;
  stop(): Promise<void>;
}

export async function startWorkerSide(
  deps: WorkerSideDeps,
  settings: WorkerSideSettings,
): Promise<WorkerSide> {
  const { relay, graphs, log } = deps;
  const sight = databaseSight(deps.storage);
  const storage = { ...deps.storage, claims: sight.over(deps.storage.claims) };
  const store =
    settings.graphConfig == null ? plainStore : await loadProjectStore(settings.graphConfig);
  const ttl = await threadTtlOf(settings.graphConfig);
  const runners = runnersFor(deps, { ...settings, store });
  const loop = loopWatch(log);
  const placement = placementOf(settings);
  const worker = await startQueueWorkers(
    {
      storage,
      relay,
      graphs,
      runnerOf: runners.runnerOf,
      live: liveRuns(storage.claims),
      sight,
      loop,
      settings: { ...settings, drafts: storage.kind === 'postgres' },
      placement,
      listen: deps.listen,
      log,
    },
    {
      connection: deps.connection,
      ...(deps.interceptors && { interceptors: deps.interceptors }),
      namespace: settings.namespace,
      taskQueues: (settings.queues ?? [mainQueue]).map((name) => taskQueueOf(placement.main, name)),
      turnsAtOnce: settings.turnsAtOnce,
      bundlePath: settings.bundlePath ?? builtBundlePath,
      cachedThreads: settings.cachedThreads,
      shutdownGraceMs: settings.drainMs,
      ...(settings.deployment && { deployment: settings.deployment }),
    },
  );
  const stopSweeping = startSweeper(
    { claims: storage.claims, wake: deps.wake, log },
    settings.sweep,
  );
  const stopStoreSweeper = startStoreSweeper(deps, store.sweepEveryMs);
  const stopErasing = startErasing(deps, settings.namespace, ttl);
  return {
    done: worker.done,
    cached: () => worker.cached(),
    async stop() {
      await Promise.all([stopSweeping(), stopErasing(), stopStoreSweeper()]);
      await worker.stop().finally(() => {
        loop.close();
        sight.close(); // the runs of a drain, which may take minutes, still ask whether the database is back
        return runners.close();
      });
    },
  };
}

/**
 * A backlog of a queue takes long when its workers are few, and whoever asks again goes to its end; a queue whose last
 * worker is gone for good is left after this.
 */
const usualPlaceWaitMs = 600_000;

function placementOf(settings: WorkerSideSettings): Placement {
  const { taskQueue: main, places = [], placeWaitMs = usualPlaceWaitMs } = settings;
  const queues = [...places].map(([graph, name]) => [graph, taskQueueOf(main, name)] as const);
  return { main, queues: new Map(queues), waitMs: placeWaitMs };
}

/** Both kinds of erasing: histories of what was deleted, and threads whose time is over. */
function startErasing(
  { storage, connection, wake, log }: WorkerSideDeps,
  namespace: string,
  ttl: ProjectConfig['threadTtl'],
): () => Promise<void> {
  const { erasure, store } = storage;
  const stopExpiring = startExpirer({ erasure, log }, ttl);
  const stopErasing = startEraser({
    erasure,
    runs: runsOver(connection, namespace, store),
    wake,
    log,
  });
  return async () => {
    await Promise.all([stopErasing(), stopExpiring()]);
  };
}

/** A call that is not answered is made again at a later look. */
const callLimitMs = 3_000;

const runsOver = (connection: NativeConnection, namespace: string, store: string): ThreadRuns =>
  threadRuns(
    {
      namespace,
      call: (ask) =>
        connection.withDeadline(Date.now() + callLimitMs, () => ask(connection.workflowService)),
    },
    store,
  );
