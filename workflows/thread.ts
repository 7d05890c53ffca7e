import {
  ActivityFailure,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  sleep,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import { threadOf, threadQueryName, turnSignalName } from '../contracts/protocol.js';
import type {
  Place,
  RunTurnResult,
  StoredThread,
  ThreadActivities,
  ThreadView,
} from '../contracts/protocol.js';
import {
  begin,
  describe,
  hasWork,
  isLong,
  ran,
  scheduled,
  seqOf,
  untaken,
  wake,
} from './thread-state.js';
import type { ThreadState } from './thread-state.js';

const turnSignal = defineSignal<[unknown]>(turnSignalName);
const threadQuery = defineQuery<ThreadView>(threadQueryName);

const { runTurn } = proxyActivities<ThreadActivities>({
  // The deadlines are inside the activity, on the database's clock; this one only ends what no worker will ever report.
  startToCloseTimeout: '24 h',
  // A lost worker is noticed within this; shorter makes a busy event loop look dead (two missed ticks at 2 s).
  heartbeatTimeout: '5 s',
  // Lost workers, restarts and queueing never fail a turn (P3): the activity settles it itself.
  retry: { initialInterval: '200 ms', backoffCoefficient: 2, maximumInterval: '10 s' },
});

/** One thread: wakes, runs turns in order, hibernates when idle. Terminating it is always safe. */
export async function thread(): Promise<void> {
  const self = threadOf(workflowInfo().workflowId);
  let state = begin;
  let signals = 0;
  const moveTo = (next: ThreadState): void => {
    state = next;
    setCurrentDetails(describe(state));
  };
  setHandler(turnSignal, (signal) => {
    signals += 1;
    const seq = seqOf(signal);
    if (seq !== undefined) moveTo(wake(state, seq));
  });
  setHandler(threadQuery, () => ({
    settledThrough: state.settledThrough,
    target: state.target,
    inFlight: state.inFlight,
  }));
  const idleFor = idleTimer(() => hasWork(state));

  for (let turns = 0; ;) {
    let idleMs: number | null = null;
    while (hasWork(state)) {
      const summary = summaryOf(state);
      moveTo(scheduled(state));
      const result = await runOnce(self, state.place, summary);
      moveTo(result === undefined ? untaken(state) : ran(state, result)); // after the await: signals may have changed it
      if (result?.deleted === true && !hasWork(state)) return;
      if (result !== undefined) ({ idleMs } = result);
      turns += 1;
      const { historyLength: events, continueAsNewSuggested: suggested } = workflowInfo();
      const run = { turns, events, signals, suggested };
      if (isLong(run, result?.limit)) return continueAsNew<typeof thread>();
    }
    if (!(await idleFor(idleMs))) return; // hibernate; a signal wakes it
  }
}

/** @returns undefined when no worker took the turn where it was placed */
async function runOnce(
  self: StoredThread,
  place: Place | undefined,
  summary: string,
): Promise<RunTurnResult | undefined> {
  // Turns that wait for a worker are given out tenant by tenant, not first come first served (Q4).
  const options = { summary, priority: { fairnessKey: self.tenant }, ...placed(place) };
  try {
    return await runTurn.executeWithOptions(options, [{ thread: self }]);
  } catch (error) {
    if (place !== undefined && isUntaken(error)) return undefined;
    throw error;
  }
}

const placed = (place: Place | undefined) =>
  place === undefined ? {} : { taskQueue: place.queue, scheduleToStartTimeout: place.waitMs };

const isUntaken = (error: unknown): boolean =>
  error instanceof ActivityFailure &&
  error.cause instanceof TimeoutFailure &&
  error.cause.timeoutType === 'SCHEDULE_TO_START';

const summaryOf = (state: ThreadState): string =>
  state.target > 0 ? `turns up to ${state.target}` : `turns after ${state.settledThrough}`;

/**
 * Waits for work. One timer serves many idle spells, re-armed only when it fires: a timer per turn costs each turn
 * two or three events more. @returns false when the thread was idle for the whole time
 */
function idleTimer(woken: () => boolean): (idleMs: number | null) => Promise<boolean> {
  let armed = false;
  const arm = (ms: number): void => {
    armed = true;
    void sleep(ms).then(() => (armed = false));
  };
  return async (idleMs) => {
    const since = Date.now();
    for (;;) {
      const leftMs = idleMs === null ? null : idleMs - (Date.now() - since);
      if (leftMs !== null && leftMs <= 0) return woken();
      if (leftMs !== null && !armed) arm(leftMs);
      await condition(() => woken() || (idleMs !== null && !armed));
      if (woken()) return true; // asked again after the timer: a signal may share its activation
    }
  };
}
