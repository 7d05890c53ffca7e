/** Where each graph's supersteps run: in this thread, or in a pool of threads (`"isolation": "thread"`). */
import { availableParallelism } from 'node:os';
import type { Logger } from 'pino';
import type { Runner } from '../engine/port.js';
import type { LoadedGraph } from '../engine/project/types.js';
import { runToStop } from '../engine/run-to-stop.js';
import type { Storage } from '../storage/port.js';
import { withStores } from './graph-stores.js';
import { startIsolation } from './isolation/isolation.js';
import { plainStore, type ProjectStore } from './project-store.js';

export interface IsolationSettings {
  /** Threads of the pool; null takes one for each core. */
  readonly threads: number | null;
  /** Heap of each thread; null leaves it to Node. */
  readonly memoryMb: number | null;
  readonly threadPath?: string;
}

interface RunnerDeps {
  readonly storage: Storage;
  readonly graphs: ReadonlyMap<string, LoadedGraph>;
  readonly log: Logger;
}

export interface Runners {
  readonly runnerOf: (graph: LoadedGraph) => Runner;
  close(): Promise<void>;
}

export function runnersFor(
  { storage, graphs, log }: RunnerDeps,
  settings: {
    readonly graphConfig?: string | null;
    readonly isolation?: IsolationSettings;
    readonly store?: ProjectStore;
  },
): Runners {
  const { graphConfig, isolation: given, store = plainStore } = settings;
  const inline = withStores(
    { openAttempt: (options) => storage.openAttempt(options), runToStop },
    storage,
    store,
  );
  const isIsolated = (graph: LoadedGraph): boolean => graph.isolation === 'thread';
  if (![...graphs.values()].some(isIsolated) || graphConfig == null) {
    return { runnerOf: () => inline, close: () => Promise.resolve() };
  }
  const isolation = startIsolation(
    { storage, log, store },
    {
      graphConfig,
      threads: given?.threads ?? availableParallelism(),
      memoryMb: given?.memoryMb ?? undefined,
      threadPath: given?.threadPath,
    },
  );
  return {
    runnerOf: (graph) => (isIsolated(graph) ? isolation : inline),
    close: () => isolation.close(),
  };
}
