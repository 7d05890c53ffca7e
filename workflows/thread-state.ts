/** What a thread's run knows, and how it changes (P2). Pure: no clock, no SDK. Everything else is in the database. */
import type { Place, RunLimit, RunTurnResult } from '../contracts/protocol.js';

export interface ThreadState {
  /** Highest seq signalled since the last `runTurn` was scheduled; 0 when none. */
  readonly target: number;
  /** As the last `runTurn` read it. */
  readonly settledThrough: number;
  /** An unsettled turn exists, or the database was never asked. */
  readonly more: boolean;
  readonly inFlight: boolean;
  /** Where the next `runTurn` goes, as the last one said; absent: the workflow's own task queue (Q1). */
  readonly place?: Place;
}

/** Every run looks once: what was signalled to an earlier run is in the database. */
export const begin: ThreadState = { target: 0, settledThrough: 0, more: true, inFlight: false };

/** A signal came. Late, doubled and reordered ones change nothing that matters. */
export const wake = (s: ThreadState, seq: number): ThreadState => ({
  ...s,
  target: Math.max(s.target, seq),
});

export const hasWork = (s: ThreadState): boolean => s.more || s.target > s.settledThrough;

/** What was signalled so far is answered by the run now scheduled: it reads the database, where every signalled turn stands. */
export const scheduled = (s: ThreadState): ThreadState => ({
  ...s,
  target: 0,
  more: false,
  inFlight: true,
});

/** The run came back. Signals may have moved the target meanwhile, and it stays. */
export const ran = (
  { target }: ThreadState,
  { settledThrough, more, place }: Pick<RunTurnResult, 'settledThrough' | 'more' | 'place'>,
): ThreadState => ({
  target,
  settledThrough,
  more,
  inFlight: false,
  ...(place !== undefined && { place }),
});

/** No worker took the turn where it was placed: the workflow's own queue knows where the graph lives now (Q1). */
export const untaken = ({ place: _place, ...s }: ThreadState): ThreadState => ({
  ...s,
  more: true,
  inFlight: false,
});

/** The seq of a signal's argument; undefined when it is malformed, and such a signal is ignored. */
export function seqOf(signal: unknown): number | undefined {
  if (typeof signal !== 'object' || signal === null || !('seq' in signal)) return undefined;
  const { seq } = signal;
  return typeof seq === 'number' && Number.isSafeInteger(seq) && seq > 0 ? seq : undefined;
}

/** Limits of a run whose worker gives none: those of the first builds. */
export const longRun: RunLimit = { turns: 100, events: 1_000, signals: 2_000 };

export const isLong = (
  run: {
    readonly turns: number;
    readonly events: number;
    readonly signals: number;
    readonly suggested: boolean;
  },
  limit: RunLimit = longRun,
): boolean =>
  run.suggested ||
  run.turns >= limit.turns ||
  run.events >= limit.events ||
  run.signals >= limit.signals;

/** One line for the Web UI: what the thread does. Numbers only, never content. */
export function describe(s: ThreadState): string {
  const done = `Settled through turn ${s.settledThrough}.`;
  if (s.inFlight)
    return s.place === undefined ? `${done} Running.` : `${done} Given to ${s.place.queue}.`;
  return hasWork(s)
    ? `${done} Woken for turn ${Math.max(s.target, s.settledThrough + 1)}.`
    : `${done} Idle.`;
}
