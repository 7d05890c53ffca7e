/** The runner of graphs with `"isolation": "thread"`, in the main thread: to its callers a turn looks as if it ran inline. */
import type { Runner } from '../../engine/port.js';
import { RemoteAttempt } from './remote-attempt.js';
import { RemoteRun, type RemoteRunDeps } from './remote-run.js';
import { threadPool, type ThreadPoolOptions } from './thread-pool.js';

export interface Isolation extends Runner {
  close(): Promise<void>;
}

export function startIsolation(
  deps: Omit<RemoteRunDeps, 'pool'>,
  options: Omit<ThreadPoolOptions, 'onStray'>,
): Isolation {
  const onStray = (error: unknown): void =>
    deps.log.error({ err: error }, 'an error in a thread that belongs to no turn');
  const pool = threadPool({ ...options, onStray });
  return {
    openAttempt: (attempt) => Promise.resolve(new RemoteAttempt(attempt)),
    runToStop: (run) => new RemoteRun({ ...deps, pool }, run).stop,
    close: () => pool.close(),
  };
}
