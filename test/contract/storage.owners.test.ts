/** Whose a thread is, looked at in the transaction that reads or acts: it may have changed hands since the caller was let in. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { backends, openDatabase, type TestDatabase } from '../support/database.js';
import { Scenario } from '../support/storage-scenario.js';

const ownedBy = (name: string) => (metadataJson: string) =>
  (JSON.parse(metadataJson) as { owner?: string }).owner === name;

describe.each(backends)('threads with owners on %s', (kind) => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await openDatabase(kind);
  });
  afterAll(() => database.close());

  test('A4 A10 a thread that was deleted and made anew by another is not shown, cancelled or deleted for its first owner', async () => {
    const { storage } = database;
    const s = new Scenario(storage);
    const { threads, turns } = storage;
    const first = { ...s.thread, mine: ownedBy('ann') };
    const second = { ...s.thread, mine: ownedBy('ben') };
    const old = await s.turn({ metadataJson: '{"owner":"ann"}' });
    expect(await turns.get(first, old.turnId)).toMatchObject({ status: 'pending' });
    expect(await threads.delete(first)).toMatchObject({ kind: 'deleted', first: true });
    // Between the question who asks and the act, so to say.
    const turn = await s.turn({ metadataJson: '{"owner":"ben"}' });

    expect(await turns.cancel(first, turn.turnId)).toEqual({ kind: 'not_found' });
    expect(await threads.delete(first)).toEqual({ kind: 'not_found' });
    const reads = [
      ...[turns.get(first, turn.turnId), turns.glance(first, turn.turnId, 1_000)],
      ...[threads.get(first), threads.state(first), threads.channel(first, 'messages')],
      ...[threads.messages(first, null, 10), threads.history(first, null, 10)],
    ];
    for (const read of reads) expect(await read).toBeUndefined();

    expect(await turns.get(second, turn.turnId)).toMatchObject({ status: 'pending', epoch: 2 });
    expect(await threads.get(second)).toMatchObject({ status: 'busy' });
    expect(await turns.cancel(second, turn.turnId)).toMatchObject({ kind: 'cancelled' });
    expect(await threads.delete(second)).toMatchObject({ kind: 'deleted', first: true });
    // What is deleted is nobody's, and answers everybody alike.
    expect(await threads.delete(first)).toMatchObject({ kind: 'deleted', first: false });
  });
});
