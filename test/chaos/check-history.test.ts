import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { checkHistory } from './check-history.js';
import { canaryOf, digestOf, type History, type Op, type SeenEvent } from './history.js';
import {
  bodyOf,
  goodHistory,
  madeCall,
  madeChanges,
  madeOp,
  madeRead,
  madeThread,
  madeTurn,
  numbers,
  spoiled,
  textAt,
  withChanged,
} from './made-history.js';

const good = goodHistory(4);
const { store } = good;
const kinds = (history: History): string[] => [
  ...new Set(checkHistory(history).map(({ kind }) => kind)),
];

const withOps = (...more: readonly Op[]): History => spoiled(good, { ops: [...good.ops, ...more] });
const withTurn = (at: number, more: Parameters<typeof madeTurn>[1]): History =>
  spoiled(good, { store: { turns: withChanged(store.turns, at, more ?? {}) } });

const token = (seq: number, text: string, fence = 1): SeenEvent => ({
  event: 'token',
  id: `turn-1.${fence}.${seq}`,
  data: JSON.stringify({ text }),
});
const accepted: SeenEvent = { event: 'accepted', data: '{}' };
const done: SeenEvent = { event: 'done', data: bodyOf(1) };
const streamed = (events: readonly SeenEvent[]): History =>
  withOps(madeOp(1, { kind: 'join', events, startMs: 15, endMs: 18 }));

/** A thread whose first epoch had one turn and was deleted, and whose second has another one. */
function deletedHistory(): History {
  const first = madeTurn(1, { text: '', response: '', version: 1 });
  const second = madeTurn(2, {
    epoch: 2,
    baseVersion: 0,
    version: 1,
    response: `seen 1: ${textAt(2)}`,
  });
  const body = bodyOf(2, second.response);
  const { key: _, text: __, turnId: ___, body: ____, turnStatus: _____, ...gone } = madeOp(1);
  return {
    ops: [
      madeOp(1),
      { ...gone, kind: 'delete', status: 204, startMs: 16, endMs: 18 },
      madeOp(2, { epoch: 2, version: 1, body }),
    ],
    calls: [madeCall(1), madeCall(2, { users: 1, digest: digestOf([canaryOf(madeThread, 2)]) })],
    store: {
      threads: [
        { thread: madeThread, epoch: 2, deleted: false, version: 1, nextSeq: 3, settledSeq: 2 },
      ],
      turns: [first, second],
      keys: [{ thread: madeThread, epoch: 2, key: 'key-2', seq: 2 }],
      changes: [...madeChanges(1)],
      canaries: [{ table: 'et_turns', canary: canaryOf(madeThread, 2) }],
    },
  };
}

describe('the history checker', () => {
  test('finds nothing in runs without a fault', () => {
    expect(checkHistory(good)).toEqual([]);
    expect(checkHistory(deletedHistory())).toEqual([]);
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        (n) => checkHistory(goodHistory(n)).length === 0,
      ),
    );
  });

  test('finds nothing when a worker was lost and the turn was paid for twice', () => {
    const [claim, commit] = madeChanges(2);
    const again = { fence: 2, attempt: 2 };
    const history = spoiled(withTurn(1, { fence: 2 }), {
      calls: [...good.calls, madeCall(2)],
      store: {
        turns: withChanged(store.turns, 1, { fence: 2 }),
        changes: [...madeChanges(1), claim!, { ...claim!, ...again }, { ...commit!, ...again }],
      },
    });
    expect(checkHistory(history)).toEqual([]);
  });

  test('a cancel answers with the cancelled turn', () => {
    const gone = { status: 'cancelled', version: null } as const;
    const body = JSON.stringify({ turn_id: 'turn-4', status: 'cancelled', response: '' });
    const told = { kind: 'cancel', turnStatus: 'cancelled', version: 3, body } as const;
    const history: History = {
      ops: [...numbers(3).map((n) => madeOp(n)), madeOp(4, told)],
      calls: good.calls,
      store: {
        ...store,
        threads: withChanged(store.threads, 0, { version: 3 }),
        turns: withChanged(store.turns, 3, { ...gone, response: '' }),
      },
    };
    expect(checkHistory(history)).toEqual([]);
  });

  test('a request that the gateway says was late is as if never sent; a 408 of nobody is a finding', () => {
    const { seq: _, epoch: __, version: ___, turnId: ____, turnStatus: _____, ...op } = madeOp(2);
    const late: Op = { ...op, result: 'fail', status: 408, startMs: 16, endMs: 17 };
    expect(kinds(withOps({ ...late, code: 'request_timeout' }))).toEqual([]);
    expect(kinds(withOps({ ...late, code: 'no code' }))).toEqual(['unexpected-answer']);
  });

  test('a stream that begins again after a reset is lawful', () => {
    const words = [token(1, 'seen '), { event: 'reset', data: '{}' }];
    const rest = [token(1, 'seen 1: ', 2), token(2, textAt(1), 2)];
    expect(kinds(streamed([accepted, ...words, ...rest, done]))).toEqual([]);
  });
});

const bad: Readonly<Record<string, readonly [kind: string, history: History]>> = {
  'a version is left out': ['version-density', withTurn(3, { version: 5, baseVersion: 4 })],
  'the thread counts another number of versions': [
    'version-density',
    spoiled(good, { store: { threads: withChanged(store.threads, 0, { version: 7 }) } }),
  ],
  'a turn stands on an older version': ['base-version', withTurn(2, { baseVersion: 1 })],
  'the thread believes an open turn settled': [
    'settled-seq',
    withTurn(2, { status: 'running', version: null }),
  ],
  'one text became two turns': ['turn-twice', withTurn(2, { text: textAt(2) })],
  'a key points at nothing': [
    'key-without-turn',
    spoiled(good, { store: { keys: withChanged(store.keys, 0, { seq: 99 }) } }),
  ],
  'a fence fell': [
    'fence-fell',
    spoiled(good, { store: { changes: withChanged(madeChanges(1), 1, { fence: 0 }) } }),
  ],
  'a settled row changed': [
    'settled-again',
    spoiled(good, {
      store: { changes: [...madeChanges(1), { ...madeChanges(1)[1]!, version: 9 }] },
    }),
  ],
  'an earlier attempt claimed after a later one': [
    'zombie-claim',
    spoiled(good, {
      store: {
        changes: [
          { ...madeChanges(1)[0]!, attempt: 2 },
          { ...madeChanges(1)[0]!, fence: 2, attempt: 1 },
        ],
      },
    }),
  ],
  'an accepted turn never settled': [
    'unsettled',
    withTurn(3, { status: 'pending', version: null }),
  ],
  'a turn failed without a fault of the model': [
    'failed',
    withTurn(3, { status: 'failed', version: null, failure: 'node_error' }),
  ],
  'an answered turn is gone': [
    'lost',
    spoiled(good, { store: { turns: store.turns.slice(0, 3) } }),
  ],
  'a reply is not what was committed': ['reply-differs', withTurn(1, { response: 'another' })],
  'a reply without a commit': ['reply-without-commit', withTurn(1, { status: 'cancelled' })],
  'two answers for one turn differ': [
    'bytes-differ',
    withOps(madeOp(1, { startMs: 50, body: `${bodyOf(1)} ` })),
  ],
  'a settled status changed': [
    'not-final',
    withOps(madeOp(1, { kind: 'show', startMs: 50, endMs: 51, turnStatus: 'running' })),
  ],
  'a later turn stands before an earlier one': [
    'real-time',
    spoiled(good, { ops: [madeOp(1, { seq: 2 }), madeOp(2, { seq: 1 })] }),
  ],
  'the key of one body took another': [
    'key-conflict',
    withOps(madeOp(3, { kind: 'conflict', key: 'key-1' })),
  ],
  'an answer that no fault explains': [
    'unexpected-answer',
    withOps(madeOp(3, { result: 'fail', status: 500, code: 'internal' })),
  ],
  'a replay is not marked as one': [
    'no-replay',
    withOps(madeOp(1, { kind: 'replay', startMs: 60, endMs: 61 })),
  ],
  'a replay called the model': [
    'replay-paid',
    withOps(madeOp(1, { kind: 'replay', replayed: true, modelCalls: 1, startMs: 60, endMs: 61 })),
  ],
  'a read shows less than an earlier one': [
    'read-went-back',
    withOps(madeRead(2, { startMs: 950, endMs: 960, final: false })),
  ],
  'messages are out of order': [
    'turn-order',
    spoiled(good, { ops: [madeRead(4, { list: [...(madeRead(4).list ?? [])].reverse() })] }),
  ],
  'messages lack a reply': [
    'turn-order',
    spoiled(good, {
      ops: [madeRead(4, { list: (madeRead(4).list ?? []).filter(({ role }) => role === 'user') })],
    }),
  ],
  "a reply shows another thread's text": [
    'bleed',
    withOps(madeOp(1, { kind: 'show', startMs: 50, body: bodyOf(1, canaryOf('other', 1)) })),
  ],
  "the model was shown another thread's text": [
    'bleed',
    spoiled(good, { calls: withChanged(good.calls, 0, { threads: [madeThread, 'other'] }) }),
  ],
  'more model calls than claims': ['cost', spoiled(good, { calls: [...good.calls, madeCall(2)] })],
  'a model call for no turn': [
    'call-without-turn',
    spoiled(good, { calls: [...good.calls, madeCall(9)] }),
  ],
  'a model call on a history that lacks a turn': [
    'stale-base',
    spoiled(good, { calls: withChanged(good.calls, 3, { digest: digestOf([]) }) }),
  ],
  'a reply of another place in the list': [
    'stale-base',
    withTurn(3, { response: `seen 2: ${textAt(4)}` }),
  ],
  'a deleted text stands in a table': [
    'resurrected',
    spoiled(deletedHistory(), {
      store: { canaries: [{ table: 'et_deltas', canary: canaryOf(madeThread, 1) }] },
    }),
  ],
  'a deleted turn keeps its text': [
    'resurrected',
    spoiled(deletedHistory(), {
      store: { turns: withChanged(deletedHistory().store.turns, 0, { text: textAt(1) }) },
    }),
  ],
  'a deleted text is shown': [
    'resurrected',
    spoiled(deletedHistory(), {
      ops: [...deletedHistory().ops, madeOp(1, { kind: 'show', startMs: 50, endMs: 51 })],
    }),
  ],
  'a stream shows words of another attempt': [
    'stream-text',
    streamed([accepted, token(1, 'seen '), token(2, 'seen '), done]),
  ],
  'a stream ends without its whole text': [
    'stream-text',
    streamed([accepted, token(1, 'seen '), done]),
  ],
  'a stream goes on after its end': [
    'stream-end',
    streamed([accepted, token(1, `seen 1: ${textAt(1)}`), done, accepted]),
  ],
  'a stream begins in the middle': ['stream-begin', streamed([token(1, 'seen ')])],
  'stream ids fall': ['stream-ids', streamed([accepted, token(2, 'seen '), token(1, '1: ')])],
};

describe('the history checker catches it when', () => {
  test.each(Object.entries(bad))('%s', (_, [kind, history]) => {
    expect(kinds(history)).toContain(kind);
  });

  test('any one turn of a longer history is missing, doubled or moved', () => {
    const spoil = (n: number, at: number, how: 'missing' | 'doubled' | 'moved'): History => {
      const base = goodHistory(n);
      const { turns } = base.store;
      const [turn, other] = [turns[at]!, turns[(at + 1) % n]!];
      const spoiledTurns = {
        missing: turns.filter((one) => one !== turn),
        doubled: [
          ...turns,
          { ...turn, seq: n + 1, turnId: 'again', version: n + 1, baseVersion: n },
        ],
        moved: turns.map((one) =>
          one === turn
            ? { ...one, seq: other.seq }
            : one === other
              ? { ...one, seq: turn.seq }
              : one,
        ),
      };
      return spoiled(base, { store: { turns: spoiledTurns[how] } });
    };
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 10 }),
        fc.nat(),
        fc.constantFrom('missing' as const, 'doubled' as const, 'moved' as const),
        (n, at, how) => checkHistory(spoil(n, at % n, how)).length > 0,
      ),
    );
    expect(numbers(3)).toHaveLength(3);
  });
});
