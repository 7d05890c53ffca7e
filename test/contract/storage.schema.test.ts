/** Refusal to start on a schema that is not this build's, race-safe migrations, and the instance lock. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { InstanceLocked, lockInstance } from '../../storage/lock-sqlite.js';
import { sqliteDriver } from '../../storage/driver-sqlite.js';
import { knownMigrations, migrate } from '../../storage/migrate.js';
import { migrateStorage, openStorage, type StorageTarget } from '../../storage/open.js';
import { SchemaMismatch, StorageUnavailable } from '../../storage/port.js';
import { storageOn } from '../../storage/storage-on.js';
import { first, query } from '../../storage/tx.js';
import { driverOf, durable, emptyTarget, onPostgres } from '../support/database.js';
import { Scenario } from '../support/storage-scenario.js';
import { openSqlite, sqlitePackages } from '../../storage/sqlite-library.js';

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

async function empty(kind: (typeof durable)[number]) {
  const { target, remove } = await emptyTarget(kind);
  undo.push(remove);
  if (target.kind === 'memory') throw new Error('not durable');
  return target;
}

/** Plain SQL behind the storage's back. */
async function tamper(target: StorageTarget, sql: string): Promise<void> {
  if (target.kind === 'postgres') {
    await onPostgres(target.url, (c) => c.query(sql));
    return;
  }
  const db = openSqlite(target.kind === 'sqlite' ? target.path : ':memory:');
  db.exec(sql);
  db.close();
}

const strict = { autoMigrate: false };

/** SQLite's own errors belong to the first test file of a jest worker, so `toThrow` does not know them for errors here. */
const saying = (words: RegExp) => ({ message: expect.stringMatching(words) as unknown });

describe.each(durable)('the schema on %s', (kind) => {
  test('an unmigrated database is refused, with the command that migrates it', async () => {
    const target = await empty(kind);
    await expect(openStorage(target, strict)).rejects.toThrow(SchemaMismatch);
    await expect(openStorage(target, strict)).rejects.toThrow(/everthread migrate/);
    expect(await migrateStorage(target)).toEqual(knownMigrations().map(({ name }) => name));
    expect(await migrateStorage(target)).toEqual([]);
    await (await openStorage(target, strict)).close();
  });

  test('P1 the store id stays with its database and differs between two', async () => {
    const [target, other] = [await empty(kind), await empty(kind)];
    const stores: string[] = [];
    for (const one of [target, target, other]) {
      const storage = await openStorage(one, { autoMigrate: true });
      stores.push(storage.store);
      await storage.close();
    }
    expect(stores[0]).toBe(stores[1]);
    expect(stores[0]).not.toBe(stores[2]);
  });

  test('data are there after a restart', async () => {
    const target = await empty(kind);
    const before = await openStorage(target, { autoMigrate: true });
    const s = new Scenario(before);
    const turn = await s.committed({ key: 'k' });
    await before.close();
    const after = await openStorage(target, strict);
    undo.push(() => after.close());
    expect(await new Scenario(after, s.thread).accept({ key: 'k' })).toEqual({
      kind: 'attached',
      turn,
    });
  });

  test.each([
    ['a dropped column', 'ALTER TABLE et_turns DROP COLUMN usage_json', /altered/],
    ['a new column', 'ALTER TABLE et_threads ADD COLUMN mine TEXT', /altered/],
    ['a dropped unique index', 'DROP INDEX et_turns_id', /altered/],
    ['a dropped table', 'DROP TABLE et_drafts', /altered/],
    [
      'another checksum',
      `UPDATE et_schema SET migrations = replace(migrations, '"checksum":"', '"checksum":"0')`,
      /differs/,
    ],
    [
      'a newer migration',
      `UPDATE et_schema SET migrations = replace(migrations, ']', ',{"name":"9999_later","checksum":"x"}]')`,
      /newer.*9999_later/,
    ],
    ['a missing migration', `UPDATE et_schema SET migrations = '[]'`, /not migrated/],
  ])('%s is refused', async (_, sql, message) => {
    const target = await empty(kind);
    await migrateStorage(target);
    await tamper(target, sql);
    await expect(openStorage(target, strict)).rejects.toThrow(SchemaMismatch);
    await expect(openStorage(target, strict)).rejects.toThrow(message);
  });

  test.each([
    ['O6 one that a newer build only added to is used', 'ADD COLUMN later TEXT', true],
    ['one that a newer build changed is refused', 'RENAME COLUMN step TO stride', false],
  ])('%s', async (_, change, additive) => {
    const target = await empty(kind);
    const later = { name: '9999_later', checksum: 'x', additive };
    const statements = [`ALTER TABLE et_turns ${change}`];
    const driver = await driverOf(target);
    await migrate(driver, [...knownMigrations(), { ...later, statements }]);
    await driver.close();
    if (!additive) return expect(openStorage(target, strict)).rejects.toThrow(/newer.*9999_later/);
    const storage = await openStorage(target, { autoMigrate: true });
    const s = new Scenario(storage);
    expect((await s.committed()).status).toBe('committed');
    await storage.close();
  });

  test('O6 a migration says by its statements whether it only adds', () => {
    const byName = new Map(knownMigrations().map((one) => [one.name, one.additive]));
    expect(byName.get('0006_spoken-trace')).toBe(true);
    expect(byName.get('0001_threads-and-turns')).toBe(false);
  });

  test('a migration that fails half-way leaves nothing behind', async () => {
    const target = await empty(kind);
    await tamper(target, 'CREATE TABLE et_drafts (mine TEXT)');
    await expect(migrateStorage(target)).rejects.toMatchObject(saying(/et_drafts/));
    await tamper(target, 'DROP TABLE et_drafts');
    expect(await migrateStorage(target)).toHaveLength(knownMigrations().length);
  });
});

test('two migrations at once on PostgreSQL: one does the work, the other finds it done', async () => {
  const target = await empty('postgres');
  const applied = await Promise.all(Array.from({ length: 4 }, () => migrateStorage(target)));
  expect(applied.filter((names) => names.length > 0)).toHaveLength(1);
});

test('memory is a new database each time', async () => {
  const [one, two] = [
    await openStorage({ kind: 'memory' }, strict),
    await openStorage({ kind: 'memory' }, strict),
  ];
  undo.push(
    () => one.close(),
    () => two.close(),
  );
  expect(one.store).not.toBe(two.store);
});

describe('faults of SQLite', () => {
  test('a file that somebody else is writing is unavailable, and heals', async () => {
    const target = await empty('sqlite');
    const storage = await openStorage(target, { autoMigrate: true });
    undo.push(() => storage.close());
    const s = new Scenario(storage);
    const other = openSqlite(target.kind === 'sqlite' ? target.path : '');
    undo.push(() => other.close());
    other.exec('BEGIN IMMEDIATE');
    await expect(s.turn()).rejects.toThrow(StorageUnavailable);
    other.exec('ROLLBACK');
    expect(await s.turn()).toMatchObject({ seq: 1 });
  });

  test('a full disk is unavailable, nothing is half-written, and it heals', async () => {
    const { target, remove } = await emptyTarget('sqlite');
    undo.push(remove);
    const path = target.kind === 'sqlite' ? target.path : '';
    const driver = sqliteDriver(path);
    undo.push(() => driver.close());
    await migrate(driver);
    const close = () => Promise.resolve();
    const storage = storageOn({ kind: 'sqlite', store: 'x', driver, close });
    const s = new Scenario(storage);
    await s.turn();
    const pages = await driver.read(() => first<{ page_count: number }>('PRAGMA page_count'));
    await driver.read(() => query(`PRAGMA max_page_count = ${pages?.page_count ?? 0}`));
    const input = { kind: 'message', text: 'x'.repeat(100_000) } as const;
    await expect(s.turn({ input })).rejects.toThrow(StorageUnavailable);
    expect(await s.record()).toMatchObject({ version: 0 });
    await driver.read(() => query('PRAGMA max_page_count = 1000000'));
    expect(await s.turn({ input })).toMatchObject({ seq: 2 });
  });

  test('a file that is no database, and a closed one, say so', async () => {
    const { target, remove } = await emptyTarget('sqlite');
    undo.push(remove);
    const path = target.kind === 'sqlite' ? target.path : '';
    writeFileSync(path, 'this is not a database file, however long it is'.repeat(100));
    await expect(openStorage({ kind: 'sqlite', path }, strict)).rejects.toMatchObject(
      saying(/everthread\.db is no SQLite database/),
    );
    const closed = await openStorage({ kind: 'memory' }, strict);
    await closed.close();
    await expect(closed.ping()).rejects.toThrow(StorageUnavailable);
  });
});

describe('the instance lock', () => {
  const file = async (): Promise<string> => {
    const target = await empty('sqlite');
    return target.kind === 'sqlite' ? target.path : '';
  };

  test('a second storage on one file is refused, by name; after the first has closed it opens', async () => {
    const path = await file();
    const first = await openStorage({ kind: 'sqlite', path }, { autoMigrate: true });
    const second = openStorage({ kind: 'sqlite', path }, { autoMigrate: true });
    await expect(second).rejects.toThrow(InstanceLocked);
    await expect(second).rejects.toThrow(new RegExp(`${path}.*another everthread process`));
    await first.close();
    await (await openStorage({ kind: 'sqlite', path }, strict)).close();
  });

  test('a lock that its caller took stays with the caller', async () => {
    const path = await file();
    const lock = lockInstance(path);
    const storage = await openStorage({ kind: 'sqlite', path, lock }, { autoMigrate: true });
    await storage.close();
    expect(() => lockInstance(path)).toThrow(InstanceLocked);
    lock.release();
    lockInstance(path).release();
  });

  test('the lock of another process holds, and dies with it by kill -9', async () => {
    const path = await file();
    const sqlite = createRequire(import.meta.url).resolve(sqlitePackages[0] ?? '');
    const holder = spawn(process.execPath, [
      '-e',
      `const db = new (require(${JSON.stringify(sqlite)}))(${JSON.stringify(`${path}.lock`)});
       db.exec('BEGIN EXCLUSIVE'); console.log('held'); setInterval(() => {}, 1000);`,
    ]);
    undo.push(() => holder.kill('SIGKILL'));
    await once(holder.stdout, 'data');
    expect(() => lockInstance(path)).toThrow(InstanceLocked);
    const ended = once(holder, 'exit');
    holder.kill('SIGKILL');
    await ended;
    lockInstance(path).release();
  });
});
