import { describe, expect, test } from '@jest/globals';
import { backends } from '../support/database.js';
import { databaseInTests } from '../support/database-in-tests.js';
import { rowsAt, Scenario } from '../support/storage-scenario.js';

describe.each(backends)('deleting threads on %s', (kind) => {
  const database = databaseInTests(kind);

  test('P8 delete is repeatable and says where the wake goes; a thread that never was is not found', async () => {
    const s = new Scenario(database.storage);
    expect(await database.storage.threads.delete(s.thread)).toEqual({ kind: 'not_found' });
    await s.committed();
    expect(await database.storage.threads.delete(s.thread)).toEqual({
      kind: 'deleted',
      nextSeq: 2,
      first: true,
    });
    expect(await database.storage.threads.delete(s.thread)).toEqual({
      kind: 'deleted',
      nextSeq: 2,
      first: false,
    });
  });

  test('O11 threads whose time is over are deleted as by hand, some at a time; one with a turn to run is not', async () => {
    const [rests, busy, fresh] = [1, 2, 3].map(() => new Scenario(database.storage));
    if (!rests || !busy || !fresh) throw new Error('unreachable');
    await rests.committed();
    await busy.committed();
    await busy.turn();
    const hour = 3_600_000;
    expect(await database.storage.erasure.expire(hour, 10)).toBe(0);
    await fresh.committed();
    while ((await database.storage.erasure.expire(0, 1)) === 1);
    expect(await database.storage.threads.get(rests.thread)).toBeUndefined();
    expect(await database.storage.threads.get(busy.thread)).toMatchObject({
      status: 'busy',
      version: 1,
    });
    expect(await database.storage.threads.delete(rests.thread)).toMatchObject({ first: false });
    expect((await rests.turn()).seq).toBe(2);
  });

  test('T5 P8 a deleted thread looks like one that never was', async () => {
    const s = new Scenario(database.storage);
    await s.committed();
    await database.storage.threads.delete(s.thread);
    expect(await database.storage.threads.get(s.thread)).toBeUndefined();
    expect(await database.storage.threads.messages(s.thread, null, 10)).toBeUndefined();
    expect(await database.storage.threads.history(s.thread, null, 10)).toBeUndefined();
    expect(await database.storage.threads.state(s.thread)).toBeUndefined();
  });

  test('P8 a turn of the dead epoch reads as aborted, without content', async () => {
    const s = new Scenario(database.storage);
    const committed = await s.committed();
    const running = await s.turn();
    await s.claimed();
    await database.storage.threads.delete(s.thread);
    for (const { turnId } of [committed, running]) {
      expect(await s.get(turnId)).toMatchObject({
        ...{ status: 'aborted', response: '', messagesJson: null, valuesJson: null, version: null },
        ...{ failure: null, draft: null },
      });
      expect((await database.storage.turns.peek([turnId])).get(turnId)).toMatchObject({
        status: 'aborted',
      });
    }
    expect(await database.storage.turns.cancel(s.thread, running.turnId)).toMatchObject({
      kind: 'already_settled',
      turn: { status: 'aborted' },
    });
  });

  test('P8 a run in flight writes nothing after a delete, nor after the next epoch began', async () => {
    const s = new Scenario(database.storage);
    await s.turn();
    const { claim } = await s.claimed();
    await database.storage.threads.delete(s.thread);
    const aborted = {
      kind: 'settled_before',
      status: 'aborted',
      after: { settledThrough: 1, more: false, deleted: true },
    };
    expect(await database.storage.claims.flush(claim, rowsAt(1))).toEqual(aborted);
    expect(await s.commit(claim)).toEqual(aborted);
    expect(await database.storage.claims.yield(claim)).toEqual(aborted);
    expect(await database.storage.claims.lookUp(claim)).toEqual(aborted);
    expect((await database.storage.claims.look([claim])).get(claim.turnId)).toMatchObject({
      fence: 2,
    });
    const next = await s.turn();
    expect(await s.commit(claim)).toMatchObject({ kind: 'settled_before', status: 'aborted' });
    expect(await s.record()).toMatchObject({ version: 0, epoch: 2, headCheckpoint: null });
    expect(next).toMatchObject({ epoch: 2, seq: 2 });
  });

  test('P8 a claim on a deleted thread is idle and says so', async () => {
    const s = new Scenario(database.storage);
    await s.turn();
    await database.storage.threads.delete(s.thread);
    expect(await s.claim()).toEqual({
      kind: 'idle',
      after: { settledThrough: 1, more: false, deleted: true },
    });
    await s.turn();
    expect(await s.claim()).toMatchObject({
      kind: 'claimed',
      turn: { head: null, baseVersion: 0 },
    });
  });

  test('P8 the next epoch is a new thread: graph, metadata, keys and versions begin again', async () => {
    const s = new Scenario(database.storage);
    const old = await s.committed({ key: 'k', graph: 'tools' });
    await database.storage.threads.delete(s.thread);
    const fresh = await s.committed({ key: 'k', graph: 'other' });
    expect(fresh).toMatchObject({ epoch: 2, version: 1, baseVersion: 0, graph: 'other' });
    expect(fresh.turnId).not.toBe(old.turnId);
    expect(await s.record()).toMatchObject({ epoch: 2, version: 1, graph: 'other' });
    expect((await database.storage.threads.messages(s.thread, null, 10))?.messages).toHaveLength(2);
  });

  test('P8 a deleted thread can be created again by hand', async () => {
    const s = new Scenario(database.storage);
    await s.committed();
    await database.storage.threads.delete(s.thread);
    expect(
      await database.storage.threads.create({ thread: s.thread, metadataJson: '{"a":1}' }),
    ).toMatchObject({
      kind: 'created',
      thread: { epoch: 2, version: 0, graph: null, metadataJson: '{"a":1}' },
    });
    expect(await s.claim()).toMatchObject({ kind: 'idle', after: { deleted: false } });
  });
});

describe.each(backends)('the sweeper on %s', (kind) => {
  const database = databaseInTests(kind);

  test('a quiet thread is taken once by its earliest unsettled turn, and again only after a longer silence', async () => {
    const s = new Scenario(database.storage);
    expect(await database.storage.claims.takeQuiet(0, 10)).toEqual([]);
    const turn = await s.turn({ graph: 'tools' });
    await s.turn();
    expect(await database.storage.claims.takeQuiet(60_000, 10)).toEqual([]);
    const until = Date.now() + 20;
    while (Date.now() < until) await database.storage.ping();
    const taken = { thread: s.thread, seq: turn.seq, graph: 'tools' };
    expect(await database.storage.claims.takeQuiet(0, 10)).toEqual([taken]);
    expect(await database.storage.claims.takeQuiet(0, 10)).toEqual([]);
    let again: readonly unknown[] = [];
    while (again.length === 0) again = await database.storage.claims.takeQuiet(0, 10);
    expect(again).toEqual([taken]);
  });

  test('a settled or deleted thread is never taken; a limit holds', async () => {
    const s = new Scenario(database.storage);
    await s.committed();
    const gone = new Scenario(database.storage);
    await gone.turn();
    await database.storage.threads.delete(gone.thread);
    await new Scenario(database.storage).turn();
    await new Scenario(database.storage).turn();
    const taken = await database.storage.claims.takeQuiet(0, 1);
    expect(taken).toHaveLength(1);
    const all = [...taken, ...(await database.storage.claims.takeQuiet(0, 100))];
    const ids = all.map(({ thread }) => thread.threadId);
    expect(ids).not.toContain(s.thread.threadId);
    expect(ids).not.toContain(gone.thread.threadId);
  });
});
