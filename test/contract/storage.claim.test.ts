import { describe, expect, test } from '@jest/globals';
import { backends } from '../support/database.js';
import { databaseInTests } from '../support/database-in-tests.js';
import { rowsAt, Scenario, stepAt } from '../support/storage-scenario.js';

describe.each(backends)('claims on %s', (kind) => {
  const database = databaseInTests(kind);

  test('P2 a thread that never was is idle, and a claim makes none', async () => {
    const s = new Scenario(database.storage);
    expect(await s.claim()).toEqual({
      kind: 'idle',
      after: { settledThrough: 0, more: false, deleted: false },
    });
    expect(await database.storage.threads.get(s.thread)).toBeUndefined();
  });

  test('P3 a claim takes the earliest unsettled turn and raises its fence', async () => {
    const s = new Scenario(database.storage);
    const [one, two] = [await s.turn(), await s.turn()];
    const first = await s.claimed();
    expect(first.claim).toMatchObject({ seq: one.seq, turnId: one.turnId, fence: 1 });
    expect((await s.claimed()).claim).toMatchObject({ seq: one.seq, fence: 2 });
    const heir = await s.claimed();
    expect(await s.commit(heir.claim)).toMatchObject({
      kind: 'settled',
      status: 'committed',
      version: 1,
      after: { settledThrough: one.seq, more: true, deleted: false },
    });
    expect((await s.claimed()).claim).toMatchObject({ seq: two.seq, fence: 1 });
  });

  test('P3 an earlier attempt or activity of the run that holds the turn is refused', async () => {
    const s = new Scenario(database.storage);
    await s.turn();
    await s.claimed({ activityId: 3, attempt: 2 });
    expect(await s.claim({ activityId: 3, attempt: 1 })).toEqual({ kind: 'refused' });
    expect(await s.claim({ activityId: 2, attempt: 9 })).toEqual({ kind: 'refused' });
    expect(await s.claim({ activityId: 3, attempt: 3 })).toMatchObject({ kind: 'claimed' });
    expect(await s.claim({ activityId: 4, attempt: 1 })).toMatchObject({ kind: 'claimed' });
    expect(await s.claim({ runId: 'another', activityId: 1 })).toMatchObject({ kind: 'claimed' });
  });

  test('P3 a retry after an unreported commit takes the next turn, or is idle', async () => {
    const s = new Scenario(database.storage);
    const turn = await s.turn();
    const { claim } = await s.claimed({ activityId: 1, attempt: 1 });
    await s.commit(claim);
    expect(await s.claim({ activityId: 1, attempt: 2 })).toEqual({
      kind: 'idle',
      after: { settledThrough: turn.seq, more: false, deleted: false },
    });
    const next = await s.turn();
    expect((await s.claimed({ activityId: 1, attempt: 3 })).claim.seq).toBe(next.seq);
  });

  test('C6 P4 a stale fence writes nothing', async () => {
    const s = new Scenario(database.storage);
    const turn = await s.turn();
    const zombie = await s.claimed();
    const heir = await s.claimed();
    expect(await database.storage.claims.flush(zombie.claim, stepAt(1, 1))).toEqual({
      kind: 'fence_lost',
    });
    expect(await s.commit(zombie.claim)).toEqual({ kind: 'fence_lost' });
    expect(await database.storage.claims.yield(zombie.claim)).toEqual({ kind: 'fence_lost' });
    expect(
      await database.storage.claims.failTry(zombie.claim, { code: 'node_error', message: 'x' }, 1),
    ).toEqual({ kind: 'fence_lost' });
    expect(await s.get(turn.turnId)).toMatchObject({ status: 'running', fence: 2, step: 0 });
    expect((await s.claimed()).hasRows).toBe(false);
    expect(heir.claim.fence).toBe(2);
  });

  test('P4 a claim whose turn has settled learns the status and writes nothing', async () => {
    const s = new Scenario(database.storage);
    const { turnId, seq } = await s.turn();
    const { claim } = await s.claimed();
    await database.storage.turns.cancel(s.thread, turnId);
    const before = {
      kind: 'settled_before',
      status: 'cancelled',
      after: { settledThrough: seq, more: false, deleted: false },
    };
    expect(await database.storage.claims.flush(claim, rowsAt(1))).toEqual(before);
    expect(await s.commit(claim)).toEqual(before);
    expect(await database.storage.claims.lookUp(claim)).toEqual(before);
    expect(await s.record()).toMatchObject({ version: 0, headCheckpoint: null });
  });

  test('P4 flushed supersteps move the step, and the next claim knows them', async () => {
    const s = new Scenario(database.storage);
    const { turnId } = await s.turn();
    const first = await s.claimed();
    expect(first).toMatchObject({ hasRows: false, step: 0, pendingNodes: null, ranNodes: null });
    expect(await database.storage.claims.flush(first.claim, rowsAt(1))).toEqual({
      kind: 'flushed',
    });
    expect(await database.storage.claims.flush(first.claim, stepAt(2, 1))).toEqual({
      kind: 'flushed',
    });
    expect(await s.get(turnId)).toMatchObject({ step: 1, status: 'running' });
    expect(await s.claimed()).toMatchObject({
      hasRows: true,
      step: 1,
      pendingNodes: ['tools'],
      ranNodes: ['model'],
    });
  });

  test('P3 losses within one superstep make a turn poison; a finished one starts the count again', async () => {
    const s = new Scenario(database.storage);
    const { turnId, seq } = await s.turn();
    const limits = { maxLosses: 3 };
    await s.claimed({}, limits);
    await s.claimed({}, limits);
    const third = await s.claimed({}, limits);
    await database.storage.claims.flush(third.claim, stepAt(1, 1));
    await s.claimed({}, limits);
    await s.claimed({}, limits);
    expect(await s.claim({}, limits)).toMatchObject({
      kind: 'failed',
      code: 'poison',
      after: { settledThrough: seq, more: false, deleted: false },
    });
    expect(await s.get(turnId)).toMatchObject({ status: 'failed', failure: { code: 'poison' } });
    expect(await s.record()).toMatchObject({ version: 0, status: 'idle' });
    await s.turn();
    expect(await s.claimed({}, limits)).toMatchObject({ hasRows: false, step: 0 });
  });

  test('P3 a yield and a failed try are no losses', async () => {
    const s = new Scenario(database.storage);
    await s.turn();
    const limits = { maxLosses: 1 };
    for (let round = 0; round < 3; round++) {
      const { claim } = await s.claimed({}, limits);
      expect(await database.storage.claims.yield(claim)).toEqual({ kind: 'flushed' });
    }
    const { claim } = await s.claimed({}, limits);
    const failure = { code: 'node_error', message: 'broke' } as const;
    expect(await database.storage.claims.failTry(claim, failure, 3)).toEqual({
      kind: 'retry',
      tries: 1,
    });
    expect(await s.claim({}, limits)).toMatchObject({ kind: 'claimed' });
  });

  test('P3 the same attempt that claims again (its COMMIT was unknown) has lost nothing', async () => {
    const s = new Scenario(database.storage);
    await s.turn();
    const holder = { activityId: 7, attempt: 1 };
    await s.claimed(holder, { maxLosses: 1 });
    expect(await s.claim(holder, { maxLosses: 1 })).toMatchObject({ kind: 'claimed' });
  });

  test('P3 tries at their limit settle the turn in the same transaction', async () => {
    const s = new Scenario(database.storage);
    const { turnId, seq } = await s.turn();
    const failure = { code: 'model_unavailable', message: 'The model does not answer.' } as const;
    for (const tries of [1, 2]) {
      const { claim } = await s.claimed();
      await database.storage.claims.flush(claim, rowsAt(tries));
      expect(await database.storage.claims.failTry(claim, failure, 3)).toEqual({
        kind: 'retry',
        tries,
      });
    }
    const { claim } = await s.claimed();
    expect(await database.storage.claims.failTry(claim, failure, 3)).toEqual({
      kind: 'settled',
      status: 'failed',
      version: 0,
      after: { settledThrough: seq, more: false, deleted: false },
    });
    expect(await s.get(turnId)).toMatchObject({ status: 'failed', failure });
    expect(await database.storage.claims.lookUp(claim)).toMatchObject({
      kind: 'settled',
      status: 'failed',
    });
  });

  test('P3 time under claim is the deadline; time between claims is not', async () => {
    const s = new Scenario(database.storage);
    const { turnId } = await s.turn();
    const first = await s.claimed({}, { turnTimeoutMs: 60_000 });
    expect(first.leftMs).toBe(60_000);
    // A holder that is lost without a sign of life has taken no time.
    const second = await s.claimed({}, { turnTimeoutMs: 60_000 });
    expect(second.leftMs).toBe(60_000);
    let spent = 0;
    while (spent === 0) {
      const { claim } = await s.claimed({}, { turnTimeoutMs: 60_000 });
      await database.storage.claims.flush(claim, stepAt(1, 1));
      await database.storage.claims.yield(claim);
      const { leftMs, claim: next } = await s.claimed({}, { turnTimeoutMs: 60_000 });
      spent = 60_000 - leftMs;
      await database.storage.claims.yield(next);
    }
    expect(await s.claim({}, { turnTimeoutMs: 1 })).toMatchObject({
      kind: 'failed',
      code: 'turn_deadline',
    });
    expect(await s.get(turnId)).toMatchObject({ failure: { code: 'turn_deadline' } });
  });

  test('P3 an unknown COMMIT is proved by "settled with my fence"', async () => {
    const s = new Scenario(database.storage);
    await s.turn();
    const { claim } = await s.claimed();
    expect(await database.storage.claims.lookUp(claim)).toEqual({ kind: 'unsettled' });
    const settled = await s.commit(claim);
    expect(await database.storage.claims.lookUp(claim)).toEqual(settled);
    await s.turn();
    const zombie = await s.claimed();
    const heir = await s.claimed();
    expect(await database.storage.claims.lookUp(zombie.claim)).toEqual({ kind: 'fence_lost' });
    await s.commit(heir.claim);
    expect(await database.storage.claims.lookUp(zombie.claim)).toMatchObject({
      kind: 'settled_before',
      status: 'committed',
    });
  });

  test('P6 a worker sees its fences move', async () => {
    const s = new Scenario(database.storage);
    const { turnId } = await s.turn();
    const { claim } = await s.claimed();
    expect(await database.storage.claims.look([claim])).toEqual(
      new Map([[turnId, { fence: 1, status: 'running', stream: false, modes: 0, step: 0 }]]),
    );
    await database.storage.turns.listen(s.thread, turnId);
    expect((await database.storage.claims.look([claim])).get(turnId)).toMatchObject({
      stream: true,
    });
    await database.storage.turns.cancel(s.thread, turnId);
    expect((await database.storage.claims.look([claim])).get(turnId)).toMatchObject({
      fence: 2,
      status: 'cancelled',
    });
    expect(await database.storage.claims.look([])).toEqual(new Map());
  });
});
