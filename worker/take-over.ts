/** The turns that the last process of a data folder was in when it was killed run again at once. */
import type { TurnWake } from '../contracts/waker.js';
import { wakeQuiet, type SweeperDeps } from './sweeper.js';

export interface TakeOverDeps extends SweeperDeps {
  /** Gives free what a dead worker holds of the thread. */
  readonly free: (turn: TurnWake) => Promise<void>;
}

/**
 * Frees and wakes each thread with work. Only for the one that holds the data folder's lock, and before it takes work
 * itself. A Temporal that is away fails nothing: the sweeper wakes the threads later.
 */
export const takeOver = ({ free, wake, ...deps }: TakeOverDeps): Promise<void> =>
  wakeQuiet(
    {
      ...deps,
      wake: async (turn) => {
        await free(turn);
        await wake(turn);
      },
    },
    0,
    'went on with what the last process left',
  );
