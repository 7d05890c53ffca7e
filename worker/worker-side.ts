/** The worker's half of a process: Temporal worker and sweeper over a storage, a relay and the graphs. */
import type { NativeConnection } from '@temporalio/worker';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { liveRuns } from '../activities/live-runs.js';
import type { Relay } from '../contracts/frames.js';
import { runToStop } from '../engine/run-to-stop.js';
import type { LoadedGraph } from '../engine/project/types.js';
import type { Storage } from '../storage/port.js';
import { startSweeper } from './sweeper.js';
import type { SweeperDeps } from './sweeper.js';
import { startThreadWorker } from './thread-worker.js';

/** Made by `npm run build`, beside the compiled code. */
export const builtBundlePath = fileURLToPath(new URL('../workflow-bundle.js', import.meta.url));

export interface WorkerSideDeps {
  readonly storage: Storage;
  readonly relay: Relay;
  readonly graphs: ReadonlyMap<string, LoadedGraph>;
  readonly connection: NativeConnection;
  readonly wake: SweeperDeps['wake'];
  readonly log: Logger;
}

export interface WorkerSideSettings {
  readonly namespace: string;
  readonly taskQueue: string;
  readonly turnTimeoutMs: number;
  readonly stepTimeoutMs: number;
  readonly threadIdleMs: number | null;
  readonly drainMs: number;
  readonly sweep: { readonly everyMs: number; readonly quietMs: number };
  readonly bundlePath?: string;
}

export interface WorkerSide {
  readonly done: Promise<void>;
  stop(): Promise<void>;
}

export async function startWorkerSide(
  deps: WorkerSideDeps,
  settings: WorkerSideSettings,
): Promise<WorkerSide> {
  const { storage, relay, graphs, log } = deps;
  const worker = await startThreadWorker(
    {
      storage,
      relay,
      graphs,
      runToStop,
      live: liveRuns(storage.claims),
      settings: { ...settings, drafts: storage.kind === 'postgres' },
      log,
    },
    {
      connection: deps.connection,
      namespace: settings.namespace,
      taskQueue: settings.taskQueue,
      bundlePath: settings.bundlePath ?? builtBundlePath,
      shutdownGraceMs: settings.drainMs,
    },
  );
  const stopSweeping = startSweeper(
    { claims: storage.claims, wake: deps.wake, log },
    settings.sweep,
  );
  return {
    done: worker.done,
    async stop() {
      await stopSweeping();
      await worker.stop();
    },
  };
}
