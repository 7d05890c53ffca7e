import { startWorker } from '../worker/main.js';
import { serve } from './serve.js';

/** `everthread worker`: runs turns until it is stopped. @returns the exit code */
export const worker = (): Promise<number> =>
  serve({
    command: 'worker',
    start: async ({ config, log, stopAsked }) => {
      const running = await startWorker(config, { log, signal: stopAsked });
      return { ...running, broken: running.done };
    },
    onReady: ({ graphs }, { log }) => log.info({ graphs }, 'worker is ready'),
  });
