/** The Temporal worker of one process: thread workflows from a bundle built beforehand, and `runTurn`. */
import type { NativeConnection, WorkerInterceptors } from '@temporalio/worker';
import { createActivities } from '../activities/index.js';
import type { RunTurnDeps } from '../activities/run-turn.js';
import type { DeploymentConfig } from '../config/deployment.js';
import { UnwatchedWorker } from './unwatched-worker.js';
import { versionedAs } from './versioned.js';

export interface ThreadWorkerOptions {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly taskQueue: string;
  /** File of the bundle that `npm run build` makes: webpack would take a second or more of every start. Null: no workflows. */
  readonly bundlePath: string | null;
  /** Turns that run at once. */
  readonly turnsAtOnce: number;
  /** Threads whose workflow is kept in memory; past this the least used is dropped and replayed when it wakes. The SDK's number unless given. */
  readonly cachedThreads?: number | undefined;
  /** How long a drain may take before runs are abandoned to another worker. */
  readonly shutdownGraceMs: number;
  readonly deployment?: DeploymentConfig;
  /** What stands around each activity; none unless given. */
  readonly interceptors?: WorkerInterceptors;
}

export interface ThreadWorker {
  /** Ends when the worker has stopped; rejects when it broke. */
  readonly done: Promise<void>;
  /** Threads whose workflow this process keeps in memory. */
  cached(): number;
  /** Asks runs to stop at their next superstep border, stops polling, waits for what is in flight. */
  stop(): Promise<void>;
}

/**
 * Almost every activity is handed out eagerly with the workflow task that asks for it; polls are for retries and for what
 * found no slot. Each open poll of a worker that froze swallows one attempt and costs its thread a heartbeat time-out:
 * with the SDK's ten a thread was stuck for a minute.
 */
const activityPolls = 2;

export async function startThreadWorker(
  deps: RunTurnDeps,
  options: ThreadWorkerOptions,
): Promise<ThreadWorker> {
  const worker = await UnwatchedWorker.create({
    connection: options.connection,
    namespace: options.namespace,
    taskQueue: options.taskQueue,
    ...versionedAs(options.deployment),
    ...(options.bundlePath !== null && { workflowBundle: { codePath: options.bundlePath } }),
    activities: createActivities(deps),
    interceptors: options.interceptors ?? {},
    maxConcurrentActivityTaskExecutions: options.turnsAtOnce,
    maxConcurrentActivityTaskPolls: activityPolls,
    ...(options.cachedThreads !== undefined && { maxCachedWorkflows: options.cachedThreads }),
    // The next task of a lost worker's thread waits this long for it before another worker replays the thread.
    stickyQueueScheduleToStartTimeout: '2 s',
    // Sent at every beat of 2 s: the default would hold heartbeats back to 4 of the 5 s of their time-out.
    maxHeartbeatThrottleInterval: '1 s',
    // Later than our own end of the grace, which gives turns back to the database instead of cancelling them.
    shutdownGraceTime: options.shutdownGraceMs + 5_000,
    shutdownForceTime: options.shutdownGraceMs + 10_000,
    // A run that breaks must not block its thread: it fails, and the sweeper opens another (DESIGN 4).
    workflowFailureErrorTypes: { '*': ['Error'] },
  });
  const done = worker.run();
  return {
    done,
    cached: () => (options.bundlePath === null ? 0 : worker.getStatus().numCachedWorkflows),
    async stop() {
      deps.live.drain();
      if (worker.getState() === 'RUNNING') worker.shutdown();
      const late = setTimeout(() => deps.live.abandon(), options.shutdownGraceMs);
      await done.finally(() => clearTimeout(late));
    },
  };
}
