/** The turns that the last process of a data folder was in when it was killed run again at once. */
import type { Logger } from 'pino';
import type { TurnWake } from '../contracts/waker.js';
import type { ClaimStore } from '../storage/port.js';

/** Most threads freed before this process works: each costs a few calls; a longer queue moves by Temporal's time-outs. */
const maxThreads = 100;

export interface TakeOverDeps {
  readonly claims: Pick<ClaimStore, 'takeQuiet'>;
  /** Gives free what a dead worker holds of the thread. */
  readonly free: (turn: TurnWake) => Promise<void>;
  readonly wake: (turn: TurnWake) => Promise<void>;
  readonly log: Logger;
}

/**
 * Frees and wakes each thread with work. Only for the one that holds the data folder's lock, and before it takes work
 * itself. A Temporal that is away fails nothing: the sweeper wakes the threads later.
 */
export async function takeOver({ claims, free, wake, log }: TakeOverDeps): Promise<void> {
  const left = await claims.takeQuiet(0, maxThreads);
  if (left.length === 0) return;
  const outcomes = await Promise.allSettled(
    left.map(async (turn) => {
      await free(turn);
      await wake(turn);
    }),
  );
  const failed = outcomes.filter(({ status }) => status === 'rejected').length;
  log.info({ threads: left.length, failed }, 'went on with what the last process left');
}
