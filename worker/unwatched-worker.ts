import { Worker } from '@temporalio/worker';

/**
 * The SDK stops workflow code that takes 5 s, for loops of its users. Ours has none, but 5,000 signals on a starved machine took
 * a minute of the clock, and Node aborts the process when code in a context is stopped half-way. A server that waits too long
 * gives the task to another worker by itself. Nor does the clock come free: for each of the five or six calls of a turn into
 * the workflow's context Node starts a thread that watches it and ends it again, 0.1 ms of CPU and twice that of time each.
 */
export class UnwatchedWorker extends Worker {
  protected static override createWorkflowCreator(
    ...[bundle, options, logger]: Parameters<typeof Worker.createWorkflowCreator>
  ): ReturnType<typeof Worker.createWorkflowCreator> {
    // Its type is a number; what it is for, `vm.runInContext`, takes undefined as no limit.
    const unwatched = { ...options, isolateExecutionTimeoutMs: undefined as unknown as number };
    return super.createWorkflowCreator(bundle, unwatched, logger);
  }
}
