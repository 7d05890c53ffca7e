/** Histories made by hand: a quiet good one, and ways to spoil it. */
import {
  canaryOf,
  digestOf,
  type History,
  type ModelCall,
  type Op,
  type RowChange,
  type Store,
  type StoredTurn,
} from './history.js';

export const madeThread = 't';

export const textAt = (n: number): string => `say ${canaryOf(madeThread, n)}`;
const replyAt = (n: number): string => `seen ${n}: ${textAt(n)}`;

export const madeTurn = (n: number, more: Partial<StoredTurn> = {}): StoredTurn => ({
  thread: madeThread,
  epoch: 1,
  seq: n,
  turnId: `turn-${n}`,
  status: 'committed',
  fence: 1,
  baseVersion: n - 1,
  version: n,
  text: textAt(n),
  response: replyAt(n),
  failure: null,
  ...more,
});

export const bodyOf = (n: number, response = replyAt(n)): string =>
  JSON.stringify({
    turn_id: `turn-${n}`,
    status: 'committed',
    response,
    output: { messages: [{ role: 'assistant', content: response }] },
  });

/** A turn sent and answered, 10 ms after the one before. */
export const madeOp = (n: number, more: Partial<Op> = {}): Op => ({
  kind: 'turn',
  client: 'c',
  thread: madeThread,
  startMs: n * 10,
  endMs: n * 10 + 5,
  result: 'ok',
  status: 200,
  key: `key-${n}`,
  text: textAt(n),
  turnId: `turn-${n}`,
  seq: n,
  epoch: 1,
  version: n,
  turnStatus: 'committed',
  body: bodyOf(n),
  ...more,
});

export const madeCall = (n: number, more: Partial<ModelCall> = {}): ModelCall => ({
  atMs: n * 10 + 1,
  step: 'only',
  canary: canaryOf(madeThread, n),
  users: n,
  digest: digestOf(numbers(n).map((i) => canaryOf(madeThread, i))),
  threads: [madeThread],
  ...more,
});

export const madeChanges = (n: number): readonly RowChange[] => {
  const row = { turnId: `turn-${n}`, fence: 1, runId: 'run', activityId: n, attempt: 1 };
  return [
    { ...row, status: 'running', version: null },
    { ...row, status: 'committed', version: n },
  ];
};

export const madeRead = (n: number, more: Partial<Op> = {}): Op => {
  const { text: _, key: __, turnId: ___, body: ____, turnStatus: _____, ...op } = madeOp(9);
  const list = numbers(n).flatMap((i) => [
    { role: 'user', text: textAt(i) },
    { role: 'assistant', text: replyAt(i) },
  ]);
  return { ...op, kind: 'messages', list, final: true, startMs: 900, endMs: 905, ...more };
};

export const numbers = (n: number): readonly number[] => Array.from({ length: n }, (_, i) => i + 1);

/** `n` turns, one after the other, without a fault. */
export function goodHistory(n: number): History {
  const store: Store = {
    threads: [
      { thread: madeThread, epoch: 1, deleted: false, version: n, nextSeq: n + 1, settledSeq: n },
    ],
    turns: numbers(n).map((i) => madeTurn(i)),
    keys: numbers(n).map((seq) => ({ thread: madeThread, epoch: 1, key: `key-${seq}`, seq })),
    changes: numbers(n).flatMap(madeChanges),
    canaries: numbers(n).map((i) => ({ table: 'et_turns', canary: canaryOf(madeThread, i) })),
  };
  const replay: Op = {
    ...madeOp(1),
    kind: 'replay',
    replayed: true,
    modelCalls: 0,
    startMs: 800,
    endMs: 805,
  };
  return {
    ops: [...numbers(n).map((i) => madeOp(i)), replay, madeRead(n)],
    calls: numbers(n).map((i) => madeCall(i)),
    store,
  };
}

/** The history with some parts replaced. */
export const spoiled = (
  base: History,
  change: {
    readonly ops?: readonly Op[];
    readonly calls?: readonly ModelCall[];
    readonly store?: Partial<Store>;
  },
): History => ({
  ops: change.ops ?? base.ops,
  calls: change.calls ?? base.calls,
  store: { ...base.store, ...change.store },
});

/** The same list with the entry at `at` changed. */
export const withChanged = <T>(list: readonly T[], at: number, more: Partial<T>): readonly T[] =>
  list.map((entry, i) => (i === at ? { ...entry, ...more } : entry));
