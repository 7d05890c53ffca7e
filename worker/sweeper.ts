/** Signals threads again whose earliest unsettled turn shows no sign of life: a wake was lost, or a run was terminated (DESIGN 4, "Also"). */
import type { Logger } from 'pino';
import { reachCrashPoint } from '../contracts/crash-point.js';
import type { Times } from '../config/times.js';
import type { TurnWake } from '../contracts/waker.js';
import type { ClaimStore } from '../storage/port.js';
import { startRounds, tolerant } from './rounds.js';

/** Most threads signalled at one look, so that a long outage ends in a steady stream and not in a burst. */
const maxThreads = 100;

export interface SweeperDeps {
  readonly claims: Pick<ClaimStore, 'takeQuiet'>;
  readonly wake: (turn: TurnWake) => Promise<void>;
  readonly log: Logger;
}

/** Wakes threads whose next turn has shown no sign of life for `quietMs`. Rejects when the database is away; a wake that fails is made again later. */
export async function wakeQuiet(
  { claims, wake, log }: SweeperDeps,
  quietMs: number,
  told: string,
): Promise<void> {
  const quiet = await claims.takeQuiet(quietMs, maxThreads);
  if (quiet.length === 0) return;
  reachCrashPoint('after-sweep');
  const outcomes = await Promise.allSettled(quiet.map((turn) => wake(turn)));
  const failed = outcomes.filter((o) => o.status === 'rejected').length;
  log.info({ threads: quiet.length, failed }, told);
}

/** @returns a function that ends the sweeping and waits for a look under way */
export const startSweeper = (
  deps: SweeperDeps,
  { quietMs, everyMs }: Times['sweep'],
): (() => Promise<void>) =>
  startRounds(
    tolerant(deps.log, 'could not look for quiet threads', () =>
      wakeQuiet(deps, quietMs, 'signalled quiet threads again'),
    ),
    everyMs,
  );
