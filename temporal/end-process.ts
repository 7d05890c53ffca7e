import { setTimeout as pause } from 'node:timers/promises';

/** The dev server ends within a second; a busy disk may need longer for its last checkpoint. */
const termLimitMs = 10_000;
const pollMs = 20;

/**
 * Asks a process to end, waits, and kills it if it has not.
 * @param isAlive proves that the pid is still that process: nothing is ever sent to another one
 */
export async function endProcess(pid: number, isAlive: () => boolean): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (!isAlive()) return;
    try {
      process.kill(pid, signal);
    } catch {
      return; // it ended between the look and the signal
    }
    const deadline = Date.now() + termLimitMs;
    while (isAlive() && Date.now() < deadline) await pause(pollMs);
  }
}
