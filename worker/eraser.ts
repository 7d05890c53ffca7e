/** Erases the workflow histories of epochs that are over (P8, O5): soon after a delete, later when Temporal was away, never an open run. */
import type { Logger } from 'pino';
import type { TurnWake } from '../contracts/waker.js';
import type { ErasureStore, OverRun } from '../storage/erasure-port.js';
import type { ThreadRuns } from '../temporal/thread-runs.js';
import { startRounds, tolerant } from './rounds.js';

/** A deleted thread's run ends within a moment; the look is one range of a key that is usually empty. */
const everyMs = 1_000;
/** Most runs erased at one look: each is two calls, and a server allows some hundred deletes a second. */
const maxRuns = 20;

export interface EraserDeps {
  readonly erasure: ErasureStore;
  readonly runs: Pick<ThreadRuns, 'erase'>;
  readonly wake: (turn: TurnWake) => Promise<void>;
  readonly log: Logger;
}

/** @returns a function that ends the erasing and waits for a look under way */
export const startEraser = (deps: EraserDeps): (() => Promise<void>) =>
  startRounds(
    tolerant(deps.log, 'could not look for histories to erase', async () => {
      const over = await deps.erasure.takeOverRuns(maxRuns);
      const outcomes = await Promise.allSettled(over.map((run) => eraseRun(deps, run)));
      const failed = outcomes.filter((o) => o.status === 'rejected').length;
      if (failed > 0) deps.log.warn({ runs: over.length, failed }, 'histories are erased later');
    }),
    everyMs,
  );

async function eraseRun(deps: EraserDeps, over: OverRun): Promise<void> {
  const { thread, runId, deleted, nextSeq } = over;
  const outcome = await deps.runs.erase(thread, runId);
  switch (outcome) {
    case 'erased':
      await deps.erasure.forgetRun(over);
      return;
    case 'open':
      // Either nobody has told it that its thread is deleted, or it serves the next epoch.
      if (deleted) await deps.wake({ thread, seq: nextSeq });
      else await deps.erasure.postponeRun(over);
      return;
  }
}
