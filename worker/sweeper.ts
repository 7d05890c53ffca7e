/** Signals threads again whose earliest unsettled turn shows no sign of life: a wake was lost, or a run was terminated (DESIGN 4, "Also"). */
import type { Logger } from 'pino';
import { reachCrashPoint } from '../contracts/crash-point.js';
import type { Times } from '../config/times.js';
import type { TurnWake } from '../contracts/waker.js';
import type { ClaimStore } from '../storage/port.js';
import { startRounds } from './rounds.js';

/** Most threads signalled at one look, so that a long outage ends in a steady stream and not in a burst. */
const maxThreads = 100;

export interface SweeperDeps {
  readonly claims: Pick<ClaimStore, 'takeQuiet'>;
  readonly wake: (turn: TurnWake) => Promise<void>;
  readonly log: Logger;
}

/** @returns a function that ends the sweeping and waits for a look under way */
export const startSweeper = (deps: SweeperDeps, timing: Times['sweep']): (() => Promise<void>) =>
  startRounds(async () => {
    try {
      const quiet = await deps.claims.takeQuiet(timing.quietMs, maxThreads);
      if (quiet.length > 0) reachCrashPoint('after-sweep');
      const outcomes = await Promise.allSettled(quiet.map((turn) => deps.wake(turn)));
      const failed = outcomes.filter((o) => o.status === 'rejected').length;
      if (quiet.length > 0)
        deps.log.info({ threads: quiet.length, failed }, 'signalled quiet threads again');
    } catch (error) {
      deps.log.warn(
        { error: error instanceof Error ? error.name : 'unknown' },
        'could not look for quiet threads',
      );
    }
  }, timing.everyMs);
