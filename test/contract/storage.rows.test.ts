/** What stands in the tables of the saver after each way a turn can go (P5, P6, P8). */
import { describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { FlushRows } from '../../storage/saver/port.js';
import { storageOn } from '../../storage/storage-on.js';
import { query, type Driver, type Tx } from '../../storage/tx.js';
import { backends } from '../support/database.js';
import { databaseInTests } from '../support/database-in-tests.js';
import { rowsAt, Scenario, stepAt } from '../support/storage-scenario.js';

const contentTables = ['et_checkpoints', 'et_deltas', 'et_writes', 'et_drafts', 'et_keys'];

describe.each(backends)('saver rows on %s', (kind) => {
  const database = databaseInTests(kind);

  const rowsOf = (s: Scenario, table: string, what: string): Promise<readonly string[]> =>
    database.driver.read(function* (): Tx<readonly string[]> {
      const rows = yield* query<{ what: string }>(
        `SELECT ${what} AS what FROM ${table} WHERE tenant = $1 AND thread_id = $2`,
        s.thread.tenant,
        s.thread.threadId,
      );
      return rows.map((row) => row.what).sort();
    });
  const checkpointsOf = (s: Scenario) => rowsOf(s, 'et_checkpoints', "ns || '/' || checkpoint_id");
  const writesOf = (s: Scenario) => rowsOf(s, 'et_writes', 'checkpoint_id');

  test('C4 P4 the last rows and the commit are one transaction', async () => {
    const s = new Scenario(database.storage);
    await s.turn();
    const { claim } = await s.claimed();
    await database.storage.claims.flush(claim, stepAt(1, 1));
    await s.commit(claim, { checkpointId: 'c2' }, rowsAt(2));
    expect(await checkpointsOf(s)).toEqual(['/c1', '/c2']);
    expect(await rowsOf(s, 'et_deltas', 'version')).toEqual(['1', '2']);
  });

  test('P4 a stale commit leaves none of its rows', async () => {
    const s = new Scenario(database.storage);
    await s.turn();
    const zombie = await s.claimed();
    await s.claimed();
    await s.commit(zombie.claim, {}, rowsAt(1));
    await database.storage.claims.flush(zombie.claim, rowsAt(1));
    expect(await checkpointsOf(s)).toEqual([]);
  });

  test('P5 a task that runs again writes its rows again: the last one holds', async () => {
    const s = new Scenario(database.storage);
    await s.turn();
    const { claim } = await s.claimed();
    const rows = rowsAt(1);
    const [write] = rows.writes;
    const other = { ...write!, value: new TextEncoder().encode('another') };
    const twice: FlushRows = { ...rows, writes: [write!, other] };
    await database.storage.claims.flush(claim, twice);
    await database.storage.claims.flush(claim, { ...rows, writes: [other] });
    const values = await database.driver.read(() =>
      query<{ value: Uint8Array }>(
        'SELECT value FROM et_writes WHERE thread_id = $1',
        s.thread.threadId,
      ),
    );
    expect(values.map(({ value }) => new TextDecoder().decode(value))).toEqual(['another']);
  });

  test('P5 more rows than one statement takes are all written', async () => {
    const s = new Scenario(database.storage);
    await s.turn();
    const { claim } = await s.claimed();
    const [write] = rowsAt(1).writes;
    const writes = Array.from({ length: 300 }, (_, idx) => ({ ...write!, idx: idx - 4 }));
    await database.storage.claims.flush(claim, { ...rowsAt(1), writes });
    expect(await writesOf(s)).toHaveLength(300);
  });

  test.each(['failed', 'cancelled'])(
    'P5 a %s turn leaves no rows; the head keeps its own',
    async (how) => {
      const s = new Scenario(database.storage);
      await s.turn();
      const first = await s.claimed();
      await s.commit(first.claim, {}, rowsAt(1));
      const { turnId } = await s.turn();
      const { claim } = await s.claimed();
      await database.storage.claims.flush(claim, stepAt(2, 1));
      await database.storage.claims.flush(claim, rowsAt(3, { ns: 'sub:task' }));
      const failure = { code: 'node_error', message: 'broke' } as const;
      if (how === 'failed')
        await database.storage.claims.settle(claim, { kind: 'failed', failure }, null);
      else await database.storage.turns.cancel(s.thread, turnId);
      expect(await checkpointsOf(s)).toEqual(['/c1']);
      expect(await writesOf(s)).toEqual(['c1']);
      expect(await rowsOf(s, 'et_deltas', 'version')).toEqual(['1']);
    },
  );

  test('P5 a resume writes beside the writes of the head; when it fails, those of the head stand', async () => {
    const s = new Scenario(database.storage);
    await s.turn();
    const first = await s.claimed();
    const interrupts = [{ id: 'i', value: 'sure?' }];
    await s.commit(first.claim, { kind: 'interrupted', checkpointId: 'c1', interrupts }, rowsAt(1));
    await s.turn({ input: { kind: 'resume', value: 'yes' } });
    const { claim } = await s.claimed();
    await database.storage.claims.flush(claim, { ...rowsAt(1), checkpoints: [], deltas: [] });
    expect(await rowsOf(s, 'et_writes', 'seq')).toEqual([1, 2]);
    const failure = { code: 'node_error', message: 'broke' } as const;
    await database.storage.claims.settle(claim, { kind: 'failed', failure }, null);
    expect(await rowsOf(s, 'et_writes', 'seq')).toEqual([1]);
    expect(await s.record()).toMatchObject({ status: 'interrupted', version: 1 });
  });

  test('P6 `interrupt` erases what came after the finished superstep: writes and sub-namespaces', async () => {
    const s = new Scenario(database.storage);
    await s.turn();
    const { claim } = await s.claimed();
    // A stateful subgraph that has finished within the superstep stays.
    await database.storage.claims.flush(claim, rowsAt(1, { ns: 'kept' }));
    await database.storage.claims.flush(claim, stepAt(2, 1));
    await database.storage.claims.flush(claim, rowsAt(3, { ns: 'sub:task' }));
    await s.turn({ multitask: 'interrupt' });
    expect(await checkpointsOf(s)).toEqual(['/c2', 'kept/keptc1']);
    expect(await writesOf(s)).toEqual(['keptc1']);
  });

  test('P8 delete erases all content and keeps the tombstone', async () => {
    const s = new Scenario(database.storage);
    await s.committed({ key: 'k' });
    const { turnId } = await s.turn();
    const { claim } = await s.claimed();
    await database.storage.claims.flush(claim, stepAt(1, 1));
    const draft = { thread: s.thread, turn: turnId, fence: 1, step: 1, seq: 1, text: 'secret' };
    await database.storage.claims.saveDrafts([{ claim, draft }]);
    await database.storage.threads.delete(s.thread);
    for (const table of contentTables) expect(await rowsOf(s, table, "'one'")).toEqual([]);
    expect(
      await rowsOf(s, 'et_turns', "input || response || coalesce(messages, '') || status"),
    ).toEqual(['aborted', 'committed']);
    expect(await rowsOf(s, 'et_threads', 'next_seq')).toEqual([3]);
  });

  test('P8 every run is recorded once in each epoch that it served', async () => {
    const s = new Scenario(database.storage);
    await s.committed();
    await s.committed();
    await s.turn();
    await s.claimed({ runId: 'run-2' });
    await database.storage.threads.delete(s.thread);
    await s.claim({ runId: 'run-2' });
    await s.claim({ runId: 'run-3' });
    await s.turn();
    await s.claimed({ runId: 'run-2' });
    expect(await rowsOf(s, 'et_runs', "run_id || ' in ' || epoch")).toEqual(['run-2 in 2']);
    const over = await database.storage.erasure.takeOverRuns(10);
    const own = over.filter(({ thread }) => thread.threadId === s.thread.threadId);
    expect(own.map(({ runId, epoch }) => `${runId} in ${epoch}`).sort()).toEqual([
      ...['run-1 in 1', 'run-2 in 1', 'run-3 in 1'],
    ]);
    expect(await database.storage.erasure.takeOverRuns(10)).toEqual([]); // for some seconds
  });

  test('DESIGN 12 a one-node turn is three transactions of at most five statements, whatever the history', async () => {
    const counted: number[] = [];
    const counting: Driver = {
      ...database.driver,
      write: (body) =>
        database.driver.write(function* () {
          const inner = body();
          let statements = 0;
          let step = inner.next();
          while (step.done !== true) {
            statements += 1;
            step = inner.next(yield step.value);
          }
          counted.push(statements);
          return step.value;
        }),
    };
    const { kind: storageKind, store } = database.storage;
    const close = () => Promise.resolve();
    const s = new Scenario(storageOn({ kind: storageKind, store, driver: counting, close }));
    await s.committed();
    for (let turn = 0; turn < 3; turn++) {
      counted.length = 0;
      await s.turn();
      const { claim } = await s.claimed();
      await s.commit(claim, {}, { ...rowsAt(turn), writes: [] });
      // accept: lock, seq, turn; claim: lock, look, take; commit: lock, turn, two tables of rows, thread.
      expect(counted).toEqual([3, 3, 5]);
    }
  });

  test('P1 seq goes on across epochs', async () => {
    const s = new Scenario(database.storage, { threadId: `again-${randomUUID()}` });
    await s.committed();
    await database.storage.threads.delete(s.thread);
    expect(await s.turn()).toMatchObject({ seq: 2, epoch: 2 });
  });
});
