/** DESIGN 5: the transition table, total over state and event. Settled states are final. */
import { describe, expect, test } from '@jest/globals';
import type { SettledStatus, TurnStatus } from '../../contracts/protocol.js';
import type { Claim } from '../../storage/port.js';
import { backends } from '../support/database.js';
import { databaseInTests } from '../support/database-in-tests.js';
import { reply, Scenario, stepAt } from '../support/storage-scenario.js';

type TurnEvent =
  | 'claim'
  | 'flush'
  | 'commit'
  | 'interrupt'
  | 'fail'
  | 'failTry'
  | 'lastTry'
  | 'yield'
  | 'staleCommit'
  | 'cancel'
  | 'rollback'
  | 'cutOff'
  | 'delete';

const stays = <S extends TurnStatus>(status: S): Record<TurnEvent, S> => ({
  ...{ claim: status, flush: status, commit: status, interrupt: status, fail: status },
  ...{ failTry: status, lastTry: status, yield: status, staleCommit: status },
  ...{ cancel: status, rollback: status, cutOff: status, delete: status },
});
const ends = {
  cancel: 'cancelled',
  rollback: 'cancelled',
  cutOff: 'cancelled',
  delete: 'aborted',
} as const;
/** A deleted thread shows `aborted` for all of its turns: the row's status is final, what is shown of it is gone (P8). */
const final = (status: SettledStatus): Record<TurnEvent, TurnStatus> => ({
  ...stays(status),
  delete: 'aborted',
});

const table: Record<TurnStatus, Record<TurnEvent, TurnStatus>> = {
  pending: { ...stays('pending'), claim: 'running', ...ends },
  running: {
    ...{ ...stays('running'), ...ends },
    ...{ commit: 'committed', interrupt: 'interrupted', fail: 'failed', lastTry: 'failed' },
  },
  committed: final('committed'),
  interrupted: final('interrupted'),
  failed: final('failed'),
  cancelled: final('cancelled'),
  aborted: final('aborted'),
};
const failure = { code: 'node_error', message: 'broke' } as const;

describe.each(backends)('turn states on %s', (kind) => {
  const database = databaseInTests(kind);

  const apply: Record<TurnEvent, (s: Scenario, turnId: string, claim: Claim) => Promise<unknown>> =
    {
      claim: (s) => s.claim(),
      flush: (_, __, claim) => database.storage.claims.flush(claim, stepAt(1, 1)),
      commit: (_, __, claim) => database.storage.claims.settle(claim, reply(claim), null),
      interrupt: (_, __, claim) =>
        database.storage.claims.settle(claim, reply(claim, { kind: 'interrupted' }), null),
      fail: (_, __, claim) =>
        database.storage.claims.settle(claim, { kind: 'failed', failure }, null),
      failTry: (_, __, claim) => database.storage.claims.failTry(claim, failure, 100),
      lastTry: (_, __, claim) => database.storage.claims.failTry(claim, failure, 1),
      yield: (_, __, claim) => database.storage.claims.yield(claim),
      staleCommit: (_, __, claim) =>
        database.storage.claims.settle({ ...claim, fence: claim.fence - 1 }, reply(claim), null),
      cancel: (s, turnId) => database.storage.turns.cancel(s.thread, turnId),
      rollback: (s) => s.accept({ multitask: 'rollback' }),
      cutOff: (s) => s.accept({ multitask: 'interrupt' }),
      delete: (s) => database.storage.threads.delete(s.thread),
    };
  const lead: Record<TurnStatus, readonly TurnEvent[]> = {
    pending: [],
    running: ['claim'],
    committed: ['claim', 'commit'],
    interrupted: ['claim', 'interrupt'],
    failed: ['claim', 'fail'],
    cancelled: ['claim', 'cancel'],
    aborted: ['claim', 'delete'],
  };

  const cells = Object.entries(table).flatMap(([state, events]) =>
    Object.entries(events).map(
      ([event, next]) => [state, event, next] as [TurnStatus, TurnEvent, TurnStatus],
    ),
  );
  test.each(cells)('T3 settled is final: %s, then %s, is %s', async (state, event, next) => {
    const s = new Scenario(database.storage);
    const { turnId, seq, epoch } = await s.turn();
    const claim = { thread: s.thread, turnId, seq, epoch, fence: 1 };
    for (const step of lead[state]) await apply[step](s, turnId, claim);
    expect(await s.get(turnId)).toMatchObject({ status: state });
    const before = await s.get(turnId);
    await apply[event](s, turnId, claim);
    const after = await s.get(turnId);
    expect(after.status).toBe(next);
    expect(after.settledAtMs === null).toBe(['pending', 'running'].includes(next));
    if (before.settledAtMs !== null && event !== 'delete') expect(after).toEqual(before);
  });
});
