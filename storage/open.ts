/** Opens the one storage of an instance: finds the backend, checks or migrates its schema, and puts the port together. */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { sqliteDriver } from './driver-sqlite.js';
import { postgresDriver } from './driver-postgres.js';
import { lockInstance, type InstanceLock } from './lock-sqlite.js';
import { checkSchema, migrate } from './migrate.js';
import { StorageUnavailable, type Storage } from './port.js';
import { isPassing, startError } from './postgres-start.js';
import { sqliteCode } from './sqlite-errors.js';
import { storageOn } from './storage-on.js';
import type { Driver } from './tx.js';

export type StorageTarget =
  | { readonly kind: 'memory' }
  | {
      readonly kind: 'sqlite';
      readonly path: string;
      /** A lock that the caller holds already and will release itself; else one is taken and released with the storage. */
      readonly lock?: InstanceLock;
    }
  | { readonly kind: 'postgres'; readonly url: string; readonly poolSize: number };

/**
 * @throws SchemaMismatch when the schema is not this build's; InstanceLocked when another process has the SQLite file;
 * StorageUnavailable when the database does not answer
 */
export async function openStorage(
  target: StorageTarget,
  options: { readonly autoMigrate: boolean },
): Promise<Storage> {
  const { driver, close } = await openDriver(target);
  try {
    // Memory begins empty in every process, so there is nobody who could have migrated it.
    if (options.autoMigrate || target.kind === 'memory') await migrate(driver);
    const store = await checkSchema(driver);
    return storageOn({ kind: target.kind, store, driver, close });
  } catch (error) {
    await close();
    throw target.kind === 'postgres' && isPassing(error) ? startError(target.url, error) : error;
  }
}

/** Between two tries to reach a database that is down: soon enough for a person who starts it by hand. */
const retryMs = 1_000;

/**
 * Opens a database of many processes for as long as it is merely not there: down, starting, cut off. One that refuses us,
 * and a schema that is not this build's, are an error at once.
 * @param options.onWaiting told the reason of each failed try
 */
export async function openStoragePatiently(
  target: Extract<StorageTarget, { readonly kind: 'postgres' }>,
  options: {
    readonly autoMigrate: boolean;
    readonly signal: AbortSignal;
    readonly onWaiting: (reason: Error) => void;
  },
): Promise<Storage> {
  const { signal, onWaiting } = options;
  for (;;) {
    try {
      return await openStorage(target, options);
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      onWaiting(error);
    }
    await pause(retryMs, undefined, { signal });
  }
}

/** `everthread migrate`: gives the names of the migrations that it applied. */
export async function migrateStorage(
  target: Exclude<StorageTarget, { readonly kind: 'memory' }>,
): Promise<readonly string[]> {
  const { driver, close } = await openDriver(target, migrationTimeoutMs);
  try {
    return await migrate(driver);
  } finally {
    await close();
  }
}

/** A migration may rewrite a large table, and waits for another one that does. */
const migrationTimeoutMs = 60 * 60_000;

interface Opened {
  readonly driver: Driver;
  readonly close: () => Promise<void>;
}

async function openDriver(target: StorageTarget, timeoutMs?: number): Promise<Opened> {
  switch (target.kind) {
    case 'memory':
      return closing(sqliteDriver(':memory:'));
    case 'sqlite':
      return openFile(target.path, target.lock);
    case 'postgres':
      return closing(
        await postgresDriver({
          url: target.url,
          poolSize: target.poolSize,
          ...(timeoutMs !== undefined && { timeoutMs }),
        }),
      );
  }
}

const closing = (driver: Driver): Opened => ({ driver, close: () => driver.close() });

function openFile(file: string, held: InstanceLock | undefined): Opened {
  mkdirSync(path.dirname(path.resolve(file)), { recursive: true });
  const own = held === undefined ? lockInstance(file) : undefined;
  try {
    const driver = sqliteDriver(file);
    return {
      driver,
      close: async () => {
        await driver.close();
        own?.release();
      },
    };
  } catch (error) {
    own?.release();
    throw fileError(file, error);
  }
}

/** Whoever starts a process is told which file it is about, and which settings lead to it. */
function fileError(file: string, error: unknown): unknown {
  const code = sqliteCode(error instanceof StorageUnavailable ? error.cause : error);
  if (!code.startsWith('SQLITE_')) return error;
  const what = code === 'SQLITE_NOTADB' ? 'is no SQLite database' : `cannot be opened (${code})`;
  return new StorageUnavailable(
    `${file} ${what}. Set EVERTHREAD_SQLITE_PATH or EVERTHREAD_DATA to another place, or move the file away.`,
    { cause: error },
  );
}
