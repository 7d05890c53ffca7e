import { describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { backends } from '../support/database.js';
import { databaseInTests } from '../support/database-in-tests.js';
import { Scenario, stepAt } from '../support/storage-scenario.js';

describe.each(backends)('accepting turns on %s', (kind) => {
  const database = databaseInTests(kind);

  const interrupted = async (): Promise<Scenario> => {
    const s = new Scenario(database.storage);
    await s.committed({}, { kind: 'interrupted', interrupts: [{ id: 'i1', value: 'sure?' }] });
    return s;
  };

  test('P9 an accepted turn is a pending row with the next seq', async () => {
    const s = new Scenario(database.storage);
    const turnId = randomUUID();
    const accepted = await s.accept({ turnId });
    expect(accepted).toMatchObject({
      kind: 'accepted',
      turn: {
        ...{ turnId, thread: s.thread, epoch: 1, seq: 1, status: 'pending', graph: 'agent' },
        ...{ fence: 0, step: 0, baseVersion: null, version: null, response: '', draft: null },
        ...{ messagesJson: null, failure: null, settledAtMs: null },
      },
    });
    expect(await s.turn()).toMatchObject({ seq: 2 });
    expect(await s.record()).toMatchObject({ status: 'busy', version: 0, graph: 'agent' });
  });

  test('P9 a known key attaches while the turn runs and replays when it is settled, with no second turn', async () => {
    const s = new Scenario(database.storage);
    const { turnId } = await s.turn({ key: 'k' });
    expect(await s.accept({ key: 'k' })).toMatchObject({ kind: 'attached', turn: { turnId } });
    const { claim } = await s.claimed();
    await s.commit(claim);
    const stored = await s.get(turnId);
    expect(await s.accept({ key: 'k', multitask: 'rollback' })).toEqual({
      kind: 'attached',
      turn: stored,
    });
    expect(await s.claim()).toMatchObject({ kind: 'idle', after: { settledThrough: 1 } });
  });

  test('P9 a key with another body is refused, whatever became of its turn', async () => {
    const s = new Scenario(database.storage);
    await s.turn({ key: 'k' });
    expect(await s.accept({ key: 'k', digest: 'v1:other' })).toEqual({ kind: 'key_reused' });
    const { claim } = await s.claimed();
    const failure = { code: 'node_error', message: 'broke' } as const;
    await database.storage.claims.settle(claim, { kind: 'failed', failure }, null);
    expect(await s.accept({ key: 'k', digest: 'v1:other' })).toEqual({ kind: 'key_reused' });
  });

  test('P9 a key whose turn failed opens a new turn for the same body, and then answers with that', async () => {
    const s = new Scenario(database.storage);
    const failed = await s.turn({ key: 'k' });
    const { claim } = await s.claimed();
    const failure = { code: 'node_error', message: 'broke' } as const;
    await database.storage.claims.settle(claim, { kind: 'failed', failure }, null);
    const again = await s.turn({ key: 'k' });
    expect(again.seq).toBe(failed.seq + 1);
    expect(await s.accept({ key: 'k' })).toMatchObject({
      kind: 'attached',
      turn: { turnId: again.turnId },
    });
  });

  test('P9 a key whose turn was cancelled replays the cancelled turn', async () => {
    const s = new Scenario(database.storage);
    const { turnId } = await s.turn({ key: 'k' });
    await database.storage.turns.cancel(s.thread, turnId);
    expect(await s.accept({ key: 'k' })).toMatchObject({
      kind: 'attached',
      turn: { turnId, status: 'cancelled' },
    });
  });

  test('P9 a key belongs to its thread and its tenant', async () => {
    const s = new Scenario(database.storage);
    const other = new Scenario(database.storage);
    const stranger = new Scenario(database.storage, { ...s.thread, tenant: 'stranger' });
    await s.turn({ key: 'k' });
    expect(await other.accept({ key: 'k' })).toMatchObject({ kind: 'accepted' });
    expect(await stranger.accept({ key: 'k' })).toMatchObject({ kind: 'accepted' });
  });

  test('P9 `reject` refuses while a turn is unsettled, and writes nothing', async () => {
    const s = new Scenario(database.storage);
    await s.turn();
    expect(await s.accept({ multitask: 'reject', key: 'k' })).toEqual({ kind: 'turn_in_progress' });
    await s.commit((await s.claimed()).claim);
    expect(await s.accept({ multitask: 'reject', key: 'k' })).toMatchObject({ kind: 'accepted' });
  });

  test('P9 a thread holds no more unsettled turns than its cap; settled ones do not count', async () => {
    const s = new Scenario(database.storage);
    const cap = { maxPending: 2 };
    await s.turn(cap);
    const second = await s.turn(cap);
    expect(await s.accept(cap)).toEqual({ kind: 'queue_full' });
    await database.storage.turns.cancel(s.thread, second.turnId);
    expect(await s.accept(cap)).toMatchObject({ kind: 'accepted' });
    expect(await s.accept(cap)).toEqual({ kind: 'queue_full' });
  });

  test('P9 a refused first turn leaves no thread behind', async () => {
    const s = new Scenario(database.storage);
    expect(await s.accept({ input: { kind: 'resume', value: null } })).toEqual({
      kind: 'resume_stale',
    });
    expect(await s.accept({ ifVersion: 3 })).toEqual({ kind: 'base_changed', version: 0 });
    expect(await database.storage.threads.get(s.thread)).toBeUndefined();
  });

  test('T4 P9 a thread is bound to its first graph', async () => {
    const s = new Scenario(database.storage);
    await s.turn({ graph: 'tools' });
    expect(await s.accept({ graph: 'other' })).toEqual({ kind: 'graph_mismatch', bound: 'tools' });
    expect(await s.turn({ graph: 'tools' })).toMatchObject({ graph: 'tools' });
    expect(await s.turn()).toMatchObject({ graph: 'tools' });
  });

  test('P9 `if_version` refuses a moved base at accept, and at claim when it moves while the turn waits', async () => {
    const s = new Scenario(database.storage);
    await s.committed();
    expect(await s.accept({ ifVersion: 0 })).toEqual({ kind: 'base_changed', version: 1 });
    expect(await s.accept({ ifVersion: 2 })).toEqual({ kind: 'base_changed', version: 1 });
    await s.turn({ ifVersion: 1 });
    const wants2 = await s.turn({ ifVersion: 2 });
    const wants2Too = await s.turn({ ifVersion: 2 });
    await s.commit((await s.claimed()).claim);
    expect((await s.claimed()).claim.turnId).toBe(wants2.turnId);
    await s.commit((await s.claimed()).claim);
    expect(await s.claim()).toMatchObject({ kind: 'failed', code: 'base_changed' });
    expect(await s.get(wants2Too.turnId)).toMatchObject({
      status: 'failed',
      failure: { code: 'base_changed' },
      version: null,
    });
  });

  test('P9 an accept of unknown outcome is found by its turn id, in any epoch, under its own thread only', async () => {
    const s = new Scenario(database.storage);
    const { turnId } = await s.turn();
    expect(await database.storage.turns.findAccepted(s.thread, turnId)).toMatchObject({ turnId });
    expect(await database.storage.turns.findAccepted(s.thread, randomUUID())).toBeUndefined();
    expect(
      await database.storage.turns.findAccepted(new Scenario(database.storage).thread, turnId),
    ).toBeUndefined();
    await database.storage.threads.delete(s.thread);
    expect(await database.storage.turns.findAccepted(s.thread, turnId)).toMatchObject({
      status: 'aborted',
    });
  });

  test('P7 a resume is refused unless the head is interrupted and no turn waits', async () => {
    const resume = { input: { kind: 'resume', value: 'yes' } } as const;
    const plain = new Scenario(database.storage);
    await plain.committed();
    expect(await plain.accept(resume)).toEqual({ kind: 'resume_stale' });
    const s = await interrupted();
    expect(await s.record()).toMatchObject({ status: 'interrupted' });
    await s.turn(resume);
    expect(await s.accept(resume)).toEqual({ kind: 'resume_stale' });
    expect(await s.claimed()).toMatchObject({ closeDangling: false, input: resume.input });
  });

  test('P7 a resume that is cancelled leaves the interrupt to be answered or abandoned', async () => {
    const s = await interrupted();
    const resume = { input: { kind: 'resume', value: 'yes' } } as const;
    const { turnId } = await s.turn(resume);
    await s.claimed();
    await database.storage.turns.cancel(s.thread, turnId);
    expect(await s.record()).toMatchObject({ status: 'interrupted' });
    await s.turn(resume);
    await s.commit((await s.claimed()).claim);
    expect(await s.accept(resume)).toEqual({ kind: 'resume_stale' });
  });

  test('P7 a plain turn on an interrupted head abandons the interrupt and closes its tool calls', async () => {
    const s = await interrupted();
    await s.turn();
    const { claim, closeDangling, head } = await s.claimed();
    expect({ closeDangling, head }).toEqual({
      closeDangling: true,
      head: { checkpointId: 'checkpoint-1', seq: 1 },
    });
    await s.commit(claim);
    expect(await s.record()).toMatchObject({ status: 'idle', interruptsJson: null });
    await s.turn();
    expect(await s.claimed()).toMatchObject({ closeDangling: false });
  });

  test('P6 `rollback` cancels what is unsettled and leaves the head', async () => {
    const s = new Scenario(database.storage);
    await s.committed();
    const [running, waiting] = [await s.turn(), await s.turn()];
    const { claim } = await s.claimed();
    await database.storage.claims.flush(claim, stepAt(5, 1));
    const accepted = await s.accept({ multitask: 'rollback' });
    if (accepted.kind !== 'accepted') throw new Error(accepted.kind);
    const next = accepted.turn;
    expect(accepted.cancelled).toEqual([
      { turnId: running.turnId, fence: claim.fence + 1, step: 1 },
      { turnId: waiting.turnId, fence: 1, step: 0 },
    ]);
    for (const { turnId } of [running, waiting]) {
      expect(await s.get(turnId)).toMatchObject({ status: 'cancelled', version: null });
    }
    expect(await s.claimed()).toMatchObject({
      claim: { turnId: next.turnId },
      baseVersion: 1,
      head: { checkpointId: 'checkpoint-1', seq: 1 },
      closeDangling: false,
    });
  });

  test('P6 `interrupt` keeps the newest finished root superstep as the head', async () => {
    const s = new Scenario(database.storage);
    await s.committed();
    const running = await s.turn();
    const { claim } = await s.claimed();
    await database.storage.claims.flush(claim, stepAt(5, 1));
    const next = await s.turn({ multitask: 'interrupt' });
    expect(await s.get(running.turnId)).toMatchObject({ status: 'cancelled', version: 2 });
    expect(await s.record()).toMatchObject({
      version: 2,
      headCheckpoint: 'c5',
      nextJson: '["tools"]',
    });
    expect(await s.claimed()).toMatchObject({
      claim: { turnId: next.turnId },
      baseVersion: 2,
      head: { checkpointId: 'c5', seq: running.seq },
      closeDangling: true,
    });
  });

  test('P6 `interrupt` of a turn without a finished superstep is a plain cancel', async () => {
    const s = new Scenario(database.storage);
    await s.committed();
    const running = await s.turn();
    await s.claimed();
    await s.turn({ multitask: 'interrupt' });
    expect(await s.get(running.turnId)).toMatchObject({ status: 'cancelled', version: null });
    expect(await s.record()).toMatchObject({ version: 1, headCheckpoint: 'checkpoint-1' });
  });
});
