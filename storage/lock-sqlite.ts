/** The instance lock: one everthread process per SQLite file. The operating system drops it when its holder dies. */
import type Database from 'better-sqlite3';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { StorageUnavailable } from './port.js';
import { sqliteCode } from './sqlite-errors.js';
import { openSqlite } from './sqlite-library.js';

/** Another process holds the database file. */
export class InstanceLocked extends Error {
  override readonly name = 'InstanceLocked';
}

export interface InstanceLock {
  release(): void;
}

/**
 * Locks `<file>.lock`, a SQLite file of its own held by an open exclusive transaction: the lock needs no native module
 * beyond the one we have, and leaves the database file readable for backups.
 * @throws InstanceLocked
 */
export function lockInstance(file: string): InstanceLock {
  const lockFile = `${file}.lock`;
  const db = openLock(lockFile);
  try {
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if (!sqliteCode(error).startsWith('SQLITE_BUSY')) throw unusable(lockFile, error);
    throw new InstanceLocked(
      `${file} is in use by another everthread process (it holds ${lockFile}). ` +
        'Stop that process, or set EVERTHREAD_DATA or EVERTHREAD_SQLITE_PATH to another place.',
      { cause: error },
    );
  }
  return {
    release: () => {
      db.close();
    },
  };
}

function openLock(lockFile: string): Database.Database {
  try {
    mkdirSync(path.dirname(path.resolve(lockFile)), { recursive: true });
    return openSqlite(lockFile, { timeout: 0 });
  } catch (error) {
    if (error instanceof StorageUnavailable) throw error;
    throw unusable(lockFile, error);
  }
}

/** A folder that is not there or may not be written, a full disk, a file of somebody else. */
function unusable(lockFile: string, error: unknown): StorageUnavailable {
  const reason = error instanceof Error ? error.message : String(error);
  return new StorageUnavailable(
    `${lockFile} cannot be used as a lock: ${reason}. Check the disk, or set EVERTHREAD_SQLITE_PATH or EVERTHREAD_DATA to another place.`,
    { cause: error },
  );
}
