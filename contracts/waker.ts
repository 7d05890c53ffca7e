/** The port by which gateway and sweeper reach a thread's workflow. */
import type { ThreadKey } from './protocol.js';

export interface TurnWake {
  readonly thread: ThreadKey;
  /** Absent in the wake after a delete (P8) and in the sweeper's. */
  readonly turnId?: string;
  readonly seq: number;
  readonly graph?: string;
}

/**
 * Tells a thread's workflow that there is something to look at (P2). A wake may be repeated, late or lost: the database
 * knows what is to do, and the sweeper wakes again.
 */
export interface Waker {
  /** @param options.start opens a run when none is open; without it a missing run is fine. @throws when Temporal does not take it */
  wake(turn: TurnWake, options: { readonly start: boolean }): Promise<void>;
}
