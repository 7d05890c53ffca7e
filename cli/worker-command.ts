import type { Environment } from '../config/env.js';
import { startWorker } from '../worker/main.js';
import { serve } from './serve.js';

export interface WorkerFlags {
  readonly buildId?: string;
  readonly deployment?: string;
  readonly taskQueue?: readonly string[];
}

/** `everthread worker`: runs turns until it is stopped. @returns the exit code */
export const worker = (flags: WorkerFlags): Promise<number> =>
  serve({
    command: 'worker',
    settings: settingsOf(flags),
    start: async ({ config, log, stopAsked }) => {
      const running = await startWorker(config, { log, signal: stopAsked });
      return { ...running, broken: running.done };
    },
    onReady: ({ graphs, queues }, { config, log }) => {
      const { name: deployment, buildId } = config.deployment;
      log.info(
        { graphs, queues, ...(buildId !== null && { deployment, buildId }) },
        'worker is ready',
      );
    },
  });

/** A flag wins over the variable of the same meaning. */
export const settingsOf = ({ buildId, deployment, taskQueue }: WorkerFlags): Environment => ({
  ...(buildId !== undefined && { EVERTHREAD_BUILD_ID: buildId }),
  ...(deployment !== undefined && { EVERTHREAD_DEPLOYMENT: deployment }),
  ...(taskQueue !== undefined && { EVERTHREAD_WORKER_QUEUES: taskQueue.join(',') }),
});
