/** The instance lock: one everthread process per SQLite file. The operating system drops it when its holder dies. */
import Database from 'better-sqlite3';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { sqliteCode } from './sqlite-errors.js';

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
  mkdirSync(path.dirname(path.resolve(file)), { recursive: true });
  const db = new Database(lockFile, { timeout: 0 });
  try {
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if (!sqliteCode(error).startsWith('SQLITE_BUSY')) throw error;
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
