/** The Temporal workers of one process, one for each task queue that it serves (Q2): workflows only on the main one. */
import type { RunTurnDeps } from '../activities/run-turn.js';
import { startThreadWorker } from './thread-worker.js';
import type { ThreadWorker, ThreadWorkerOptions } from './thread-worker.js';

export interface QueueWorkersOptions extends Omit<ThreadWorkerOptions, 'taskQueue' | 'bundlePath'> {
  /** As Temporal knows them; the main one is that of `deps.placement`. */
  readonly taskQueues: readonly string[];
  readonly bundlePath: string;
}

/** Started and stopped together; broken when one of them is. */
export async function startQueueWorkers(
  deps: RunTurnDeps,
  { taskQueues, bundlePath, ...options }: QueueWorkersOptions,
): Promise<ThreadWorker> {
  const workers: ThreadWorker[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(workers.map((worker) => worker.stop()));
  };
  try {
    for (const taskQueue of taskQueues) {
      const isMain = taskQueue === deps.placement.main;
      const own = { taskQueue, bundlePath: isMain ? bundlePath : null };
      workers.push(await startThreadWorker(deps, { ...options, ...own }));
    }
  } catch (error) {
    await stop();
    throw error;
  }
  const ended = Promise.allSettled(workers.map((worker) => worker.done));
  void ended.then(() => deps.live.close());
  return {
    done: Promise.all(workers.map((worker) => worker.done)).then(() => undefined),
    cached: () => workers.reduce((sum, worker) => sum + worker.cached(), 0),
    stop,
  };
}
