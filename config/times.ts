/** The settings that are times. */
import type { SettingReader } from './problems.js';
import * as shape from './shapes.js';

export interface Times {
  /** Null: a thread's workflow never hibernates. */
  readonly threadIdleMs: number | null;
  readonly turnTimeoutMs: number;
  readonly stepTimeoutMs: number;
  /** A JSON request waits this long for its turn, then gets 202 (DESIGN 15.3): most proxies cut silence at 60-120 s or later. */
  readonly requestWaitMs: number;
  readonly sweep: {
    /** How often a worker looks for threads whose wake was lost: one cheap query. */
    readonly everyMs: number;
    /** A turn without claim, flush or draft for this long counts as forgotten: longer than any healthy silence. */
    readonly quietMs: number;
  };
  /** How long a stop waits for running supersteps; what is cut off runs again elsewhere or at the next start. */
  readonly drainMs: number;
}

const minuteMs = 60_000;
/** The activity's own `startToCloseTimeout` is 24 h and the deadlines are inside it (DESIGN 4). */
const longestTurnHours = 23;
const longestIdleHours = 30 * 24;

/** @param how.patientStop a stop may wait for the longest superstep, since others serve meanwhile; a person at a terminal may not */
export function resolveTimes(reader: SettingReader, how: { readonly patientStop: boolean }): Times {
  const turnTimeoutMs = reader.read(
    'EVERTHREAD_TURN_TIMEOUT',
    shape.duration(longestTurnHours),
    10 * minuteMs,
  );
  const longestStepMs = reader.read(
    'EVERTHREAD_STEP_TIMEOUT',
    shape.duration(longestTurnHours),
    5 * minuteMs,
  );
  // A turn of less than a step's time ends its step too.
  const stepTimeoutMs = Math.min(longestStepMs, turnTimeoutMs);
  return {
    threadIdleMs: reader.read(
      'EVERTHREAD_THREAD_IDLE',
      shape.durationOrNever(longestIdleHours),
      10 * minuteMs,
    ),
    turnTimeoutMs,
    stepTimeoutMs,
    requestWaitMs: 2 * minuteMs,
    sweep: { everyMs: 5_000, quietMs: 30_000 },
    drainMs: how.patientStop ? stepTimeoutMs : 5_000,
  };
}
