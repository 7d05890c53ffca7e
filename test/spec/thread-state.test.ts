import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  begin,
  describe as describeState,
  hasWork,
  isLong,
  longRun,
  ran,
  scheduled,
  seqOf,
  wake,
} from '../../workflows/thread-state.js';
import type { ThreadState } from '../../workflows/thread-state.js';

/** Every kind of state that a run can be in; the numbers stand for "turn 5 settled, turn 7 signalled". */
const states = {
  fresh: begin,
  idle: { target: 0, settledThrough: 5, more: false, inFlight: false },
  woken: { target: 7, settledThrough: 5, more: false, inFlight: false },
  moreToDo: { target: 0, settledThrough: 5, more: true, inFlight: false },
  running: { target: 0, settledThrough: 5, more: false, inFlight: true },
  runningWoken: { target: 7, settledThrough: 5, more: false, inFlight: true },
} as const satisfies Record<string, ThreadState>;

const events = {
  wakeOld: (s: ThreadState) => wake(s, 5),
  wakeNew: (s: ThreadState) => wake(s, 7),
  scheduled,
  ranToEnd: (s: ThreadState) => ran(s, { settledThrough: 7, more: false }),
  ranWithMore: (s: ThreadState) => ran(s, { settledThrough: 6, more: true }),
} as const;

type Name = keyof typeof states;
/** What each event leaves: has the thread work afterwards? Total: the compiler refuses a missing cell. */
const table: Record<Name, Record<keyof typeof events, 'work' | 'rest'>> = {
  fresh: {
    wakeOld: 'work',
    wakeNew: 'work',
    scheduled: 'rest',
    ranToEnd: 'rest',
    ranWithMore: 'work',
  },
  idle: {
    wakeOld: 'rest',
    wakeNew: 'work',
    scheduled: 'rest',
    ranToEnd: 'rest',
    ranWithMore: 'work',
  },
  woken: {
    wakeOld: 'work',
    wakeNew: 'work',
    scheduled: 'rest',
    ranToEnd: 'rest',
    ranWithMore: 'work',
  },
  moreToDo: {
    wakeOld: 'work',
    wakeNew: 'work',
    scheduled: 'rest',
    ranToEnd: 'rest',
    ranWithMore: 'work',
  },
  running: {
    wakeOld: 'rest',
    wakeNew: 'work',
    scheduled: 'rest',
    ranToEnd: 'rest',
    ranWithMore: 'work',
  },
  runningWoken: {
    wakeOld: 'work',
    wakeNew: 'work',
    scheduled: 'rest',
    ranToEnd: 'rest',
    ranWithMore: 'work',
  },
};
const cells = Object.entries(table).flatMap(([state, row]) =>
  Object.entries(row).map(
    ([event, want]) => [state as Name, event as keyof typeof events, want] as const,
  ),
);

describe('P2 the total transition table of a thread run', () => {
  test.each(cells)('%s + %s leaves %s', (state, event, want) => {
    expect(hasWork(events[event](states[state]))).toBe(want === 'work');
  });
});

describe('P2 wakes', () => {
  test('every run looks once, whether or not a signal came', () => {
    expect(hasWork(begin)).toBe(true);
  });

  test('a signal that comes while a run is in flight outlives its result', () => {
    const during = wake(scheduled(begin), 9);
    expect(hasWork(ran(during, { settledThrough: 8, more: false }))).toBe(true);
    expect(hasWork(ran(during, { settledThrough: 9, more: false }))).toBe(false);
  });

  test('duplicate, late and reordered signals lead to the same state', () => {
    const seqs = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(seqs, fc.infiniteStream(fc.nat()), (list, random) => {
        const shuffled = [...list, ...list]
          .map((seq) => ({ seq, at: random.next().value as number }))
          .sort((a, b) => a.at - b.at);
        const inOrder = list.reduce<ThreadState>(wake, states.idle);
        expect(shuffled.reduce((s: ThreadState, x) => wake(s, x.seq), states.idle)).toEqual(
          inOrder,
        );
      }),
    );
  });

  test.each([
    null,
    undefined,
    7,
    'x',
    {},
    { seq: '3' },
    { seq: 0 },
    { seq: -1 },
    { seq: 1.5 },
    { seq: NaN },
  ])('a malformed signal is no wake: %p', (signal) => {
    expect(seqOf(signal)).toBeUndefined();
  });

  test('a signal says its seq', () => {
    expect(seqOf({ turn_id: 'x', seq: 3 })).toBe(3);
    expect(seqOf({ seq: 3, more: 'fields' })).toBe(3);
  });
});

describe('long runs continue as new', () => {
  const short = { turns: 1, events: 10, signals: 1, suggested: false };
  test.each([
    { ...short, turns: longRun.turns },
    { ...short, events: longRun.events },
    { ...short, signals: longRun.signals },
    { ...short, suggested: true },
  ])('%p', (run) => {
    expect(isLong(run)).toBe(true);
  });
  test('a short one does not', () => {
    expect(isLong(short)).toBe(false);
    // A worker's own limit counts instead.
    expect(isLong(short, { turns: short.turns, events: 1_000, signals: 1_000 })).toBe(true);
    expect(isLong({ ...short, turns: longRun.turns }, { ...longRun, turns: 1_000 })).toBe(false);
  });
});

test('the current details of a run say what it does, in numbers only', () => {
  expect(describeState(states.idle)).toBe('Settled through turn 5. Idle.');
  expect(describeState(states.running)).toBe('Settled through turn 5. Running.');
  expect(describeState(states.woken)).toBe('Settled through turn 5. Woken for turn 7.');
});
