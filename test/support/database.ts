/** Opens each backend for tests: memory, a SQLite file of its own, and a database of its own in the run's PostgreSQL. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { postgresDriver } from '../../storage/driver-postgres.js';
import { sqliteDriver } from '../../storage/driver-sqlite.js';
import { checkSchema, migrate } from '../../storage/migrate.js';
import { openStorage, type StorageTarget } from '../../storage/open.js';
import type { Storage, StorageKind } from '../../storage/port.js';
import { storageOn } from '../../storage/storage-on.js';
import type { Driver } from '../../storage/tx.js';

export const backends: readonly StorageKind[] = ['memory', 'sqlite', 'postgres'];
/** Those whose data outlive the process. */
export const durable = ['sqlite', 'postgres'] as const;

export interface TestDatabase {
  readonly storage: Storage;
  readonly target: StorageTarget;
  /** Closes the storage and removes the data. */
  close(): Promise<void>;
}

/** An empty, migrated database. */
export async function openDatabase(kind: StorageKind): Promise<TestDatabase> {
  const { target, remove } = await emptyTarget(kind);
  const storage = await openStorage(target, { autoMigrate: true });
  return {
    storage,
    target,
    close: async () => {
      await storage.close();
      await remove();
    },
  };
}

/** The same with the driver beside it, for tests that look at rows. */
export async function openDriver(
  kind: StorageKind,
): Promise<TestDatabase & { readonly driver: Driver }> {
  const { target, remove } = await emptyTarget(kind);
  const driver = await driverOf(target);
  await migrate(driver);
  const store = await checkSchema(driver);
  const storage = storageOn({ kind, store, driver, close: () => driver.close() });
  const close = async (): Promise<void> => {
    await driver.close();
    await remove();
  };
  return { storage, driver, target, close };
}

export async function driverOf(target: StorageTarget): Promise<Driver> {
  if (target.kind === 'postgres') return await postgresDriver(target);
  return sqliteDriver(target.kind === 'memory' ? ':memory:' : target.path);
}

/** A place for a database that nobody has migrated yet. */
export async function emptyTarget(
  kind: StorageKind,
): Promise<{ readonly target: StorageTarget; readonly remove: () => Promise<void> }> {
  switch (kind) {
    case 'memory':
      return { target: { kind }, remove: async () => undefined };
    case 'sqlite': {
      const folder = await mkdtemp(path.join(tmpdir(), 'everthread-db-'));
      return {
        target: { kind, path: path.join(folder, 'everthread.db') },
        remove: () => rm(folder, { recursive: true, force: true }),
      };
    }
    case 'postgres': {
      const { url, drop } = await createPostgresDatabase();
      return { target: { kind, url, poolSize: 10 }, remove: drop };
    }
  }
}

/** A database of its own in the run's PostgreSQL (started when the first test asks). */
export async function createPostgresDatabase(): Promise<{
  readonly url: string;
  readonly drop: () => Promise<void>;
}> {
  const server = await postgresServer();
  const name = `t_${randomUUID().replaceAll('-', '')}`;
  await administer(server, `CREATE DATABASE ${name}`);
  return {
    url: `${server}/${name}`,
    drop: () => administer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

async function postgresServer(): Promise<string> {
  const broker = process.env.EVERTHREAD_TEST_POSTGRES_BROKER;
  if (broker === undefined) throw new Error('run tests with "npm test": it offers PostgreSQL');
  const answer = await fetch(broker);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`PostgreSQL did not start: ${text}`);
  return text;
}

async function administer(server: string, sql: string): Promise<void> {
  await onPostgres(`${server}/postgres`, (client) => client.query(sql));
}

/** Runs something on a connection of its own. */
export async function onPostgres<T>(
  url: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
