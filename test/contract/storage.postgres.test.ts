/** What only a database with many clients can show: races, cut connections, frozen holders, poolers. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { postgresDriver } from '../../storage/driver-postgres.js';
import { openStorage } from '../../storage/open.js';
import { CommitUnknown, StorageUnavailable, Unstorable, type Storage } from '../../storage/port.js';
import { storageOn } from '../../storage/storage-on.js';
import { query } from '../../storage/tx.js';
import { cuttingProxy } from '../support/cutting-proxy.js';
import { onPostgres, openDatabase, type TestDatabase } from '../support/database.js';
import { rowsAt, Scenario, stepAt } from '../support/storage-scenario.js';
import { transactionPooler } from '../support/transaction-pooler.js';

let database: TestDatabase;
let storage: Storage;
let url: string;
beforeAll(async () => {
  database = await openDatabase('postgres');
  storage = database.storage;
  url = database.target.kind === 'postgres' ? database.target.url : '';
});
afterAll(() => database.close());

const undo: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

/** Another process on the same database. */
async function another(address = url): Promise<Storage> {
  const opened = await openStorage(
    { kind: 'postgres', url: address, poolSize: 4 },
    { autoMigrate: false },
  );
  undo.push(() => opened.close());
  return opened;
}

/** How often a race is run: each order should win some. */
const rounds = 10;

describe('races', () => {
  test('P3 claims at once get one fence each, and only the highest writes', async () => {
    const s = new Scenario(storage);
    await s.turn();
    const claims = await Promise.all(
      Array.from({ length: 8 }, (_, i) => s.claimed({ runId: `run-${i}`, activityId: 1 })),
    );
    expect(claims.map(({ claim }) => claim.fence).sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    const flushed = await Promise.all(
      claims.map(({ claim }) => storage.claims.flush(claim, rowsAt(1))),
    );
    claims.forEach(({ claim }, i) => {
      expect(flushed[i]?.kind).toBe(claim.fence === 8 ? 'flushed' : 'fence_lost');
    });
    const settled = await Promise.all(claims.map(({ claim }) => s.commit(claim)));
    expect(settled.filter(({ kind }) => kind === 'settled')).toHaveLength(1);
    expect(await s.record()).toMatchObject({ version: 1 });
  });

  test('P9 accepts at once with one key open one turn; first turns at once open one thread', async () => {
    const other = await another();
    for (let round = 0; round < rounds; round++) {
      const s = new Scenario(storage);
      const twin = new Scenario(other, s.thread);
      const all = await Promise.all(
        [s, twin, s, twin, s, twin].map((one, i) => one.accept(i < 4 ? { key: 'k' } : {})),
      );
      const accepted = all.flatMap((a) => (a.kind === 'accepted' ? [a.turn.seq] : []));
      expect(
        all
          .slice(0, 4)
          .map(({ kind }) => kind)
          .sort(),
      ).toEqual([...['accepted', 'attached', 'attached', 'attached']]);
      expect(accepted.sort()).toEqual([1, 2, 3]);
    }
  });

  test('P8 an accept that races a delete stands in the epoch before it, or in the one after', async () => {
    const other = await another();
    const seen = new Set<number>();
    for (let round = 0; round < rounds; round++) {
      const s = new Scenario(storage);
      await s.committed();
      const [turn, deleted] = await Promise.all([s.turn(), other.threads.delete(s.thread)]);
      const thread = await storage.threads.get(s.thread);
      seen.add(turn.epoch);
      expect(deleted).toMatchObject({ kind: 'deleted', first: true });
      expect((await s.get(turn.turnId)).status).toBe(turn.epoch === 1 ? 'aborted' : 'pending');
      expect(thread?.epoch).toBe(turn.epoch === 1 ? undefined : 2);
      expect(turn.seq).toBe(2);
    }
    expect(seen.size).toBeGreaterThan(0);
  });

  test('P6 a commit that races a cancel: one of them settles the turn, and both say so', async () => {
    const other = await another();
    for (let round = 0; round < rounds; round++) {
      const s = new Scenario(storage);
      const { turnId } = await s.turn();
      const { claim } = await s.claimed();
      const [settled, cancelled] = await Promise.all([
        s.commit(claim, {}, rowsAt(1)),
        other.turns.cancel(s.thread, turnId),
      ]);
      const committed = settled.kind === 'settled';
      expect(cancelled.kind).toBe(committed ? 'already_settled' : 'cancelled');
      expect(await s.get(turnId)).toMatchObject({
        status: committed ? 'committed' : 'cancelled',
        version: committed ? 1 : null,
      });
      expect(await s.record()).toMatchObject({ version: committed ? 1 : 0 });
    }
  });

  test('P8 a commit or flush that races a delete leaves no row of the dead epoch', async () => {
    const other = await another();
    for (let round = 0; round < rounds; round++) {
      const s = new Scenario(storage);
      await s.turn();
      const { claim } = await s.claimed();
      await Promise.all([
        storage.claims.flush(claim, stepAt(1, 1)).then(() => s.commit(claim, {}, rowsAt(2))),
        other.threads.delete(s.thread),
      ]);
      const left = await onPostgres(url, (client) =>
        client.query('SELECT 1 FROM et_checkpoints WHERE thread_id = $1', [s.thread.threadId]),
      );
      expect(left.rowCount).toBe(0);
    }
  });

  test('two sweepers never take the same thread', async () => {
    const other = await another();
    const ids = new Set<string>();
    for (let i = 0; i < 10; i++) ids.add((await new Scenario(storage).turn()).thread.threadId);
    // An hour of silence: the pause to the next wake is then minutes, and no second look can be due.
    await onPostgres(url, (client) =>
      client.query(
        'UPDATE et_turns SET accepted_at_ms = accepted_at_ms - 3600000, alive_at_ms = alive_at_ms - 3600000',
      ),
    );
    const taken = (
      await Promise.all([storage, other, storage, other].map((s) => s.claims.takeQuiet(0, 1_000)))
    ).flatMap((quiet) => quiet.map(({ thread }) => thread.threadId));
    expect(taken.filter((id) => ids.has(id)).sort()).toEqual([...ids].sort());
  });
});

describe('faults', () => {
  test('P9 an accept cut before COMMIT did not happen; cut after it, it did: the look-up knows', async () => {
    const proxy = await cuttingProxy(url);
    undo.push(() => proxy.close());
    const cut = await another(proxy.url);
    for (const when of ['before', 'after'] as const) {
      const s = new Scenario(cut);
      const turnId = randomUUID();
      proxy.cutNext(when);
      await expect(s.accept({ turnId })).rejects.toThrow(CommitUnknown);
      const found = await cut.turns.findAccepted(s.thread, turnId);
      expect(found?.turnId).toBe(when === 'after' ? turnId : undefined);
    }
    expect(proxy.cuts()).toBe(2);
  });

  test('P3 a commit of unknown outcome is proved by its fence, or done again', async () => {
    const proxy = await cuttingProxy(url);
    undo.push(() => proxy.close());
    const cut = await another(proxy.url);
    for (const when of ['before', 'after'] as const) {
      const s = new Scenario(cut);
      const { turnId } = await s.turn();
      const { claim } = await s.claimed();
      proxy.cutNext(when);
      await expect(s.commit(claim, {}, rowsAt(1))).rejects.toThrow(CommitUnknown);
      const found = await cut.claims.lookUp(claim);
      expect(found.kind).toBe(when === 'after' ? 'settled' : 'unsettled');
      if (found.kind === 'unsettled') await s.commit(claim, {}, rowsAt(1));
      expect(await s.get(turnId)).toMatchObject({ status: 'committed', version: 1 });
    }
  });

  test('a connection that the server ends, idle or at work, costs one call and no process', async () => {
    const name = `et-${randomUUID()}`;
    const named = await another(`${url}?application_name=${name}`);
    const s = new Scenario(named);
    await s.committed();
    await endConnections();
    const answer = await s.record().catch((error: unknown) => error);
    if (answer instanceof Error) expect(answer).toBeInstanceOf(StorageUnavailable);
    expect(await s.committed()).toMatchObject({ version: 2 });
  });

  /** Ends every connection of this database but those that do it. */
  const endConnections = (): Promise<unknown> =>
    onPostgres(url, (client) =>
      client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()`,
      ),
    );

  test('P4 a frozen holder of the thread lock costs others a time-out and is ended; its late work is undone', async () => {
    const driver = await postgresDriver({ url, poolSize: 3, timeoutMs: 300 });
    const impatient = storageOn({
      kind: 'postgres',
      store: storage.store,
      driver,
      close: () => driver.close(),
    });
    undo.push(() => impatient.close());
    const s = new Scenario(impatient);
    await s.turn();
    await onPostgres(url, async (frozen) => {
      await frozen.query('BEGIN');
      await frozen.query('SELECT 1 FROM et_threads WHERE thread_id = $1 FOR UPDATE', [
        s.thread.threadId,
      ]);
      await expect(s.turn()).rejects.toThrow(StorageUnavailable);
      await frozen.query('ROLLBACK');
    });
    expect(await s.turn()).toMatchObject({ seq: 2 });
    // A body that waits inside its transaction is ended by the server.
    const late = driver.write(function* () {
      yield* query('UPDATE et_threads SET version = 99 WHERE thread_id = $1', s.thread.threadId);
      yield* query('SELECT pg_sleep(1)');
    });
    await expect(late).rejects.toThrow(StorageUnavailable);
    expect(await s.record()).toMatchObject({ version: 0 });
  });

  test('a value that cannot be stored is said to be so, and the connection goes on', async () => {
    const s = new Scenario(storage);
    await expect(s.accept({ key: 'k', digest: 'nul \u0000' })).rejects.toThrow(Unstorable);
    expect(await storage.threads.get(s.thread)).toBeUndefined();
    expect(await s.turn()).toMatchObject({ seq: 1 });
  });

  test('a deadlock is resolved by running the victim again', async () => {
    const driver = await postgresDriver({ url, poolSize: 4 });
    undo.push(() => driver.close());
    const [a, b] = [new Scenario(storage), new Scenario(storage)];
    await a.turn();
    await b.turn();
    const both = (one: Scenario, other: Scenario) =>
      driver.write(function* () {
        for (const { thread } of [one, other]) {
          yield* query(
            'SELECT 1 FROM et_threads WHERE thread_id = $1 {for update}',
            thread.threadId,
          );
          yield* query('SELECT pg_sleep(0.1)');
        }
        return 'done';
      });
    expect(await Promise.all([both(a, b), both(b, a)])).toEqual(['done', 'done']);
  });

  test('a database that is not there is unavailable', async () => {
    const nowhere = new URL(url);
    nowhere.port = '1';
    await expect(another(nowhere.href)).rejects.toThrow(StorageUnavailable);
  });

  test('a transaction pooler is refused with what to do', async () => {
    const pooler = await transactionPooler(url);
    undo.push(() => pooler.close());
    await expect(another(pooler.url)).rejects.toThrow(/transaction pooler.*direct address/s);
  });
});
