/** Reads a SQLite file beside the process that owns it: each read is one transaction, and nothing is ever written. */
import type Database from 'better-sqlite3';
import { drive, runner } from './driver-sqlite.js';
import { sqliteError } from './sqlite-errors.js';
import type { Driver } from './tx.js';
import { openSqlite } from './sqlite-library.js';

/** The owner's checkpoints of the log hold a reader up for a moment. */
const busyTimeoutMs = 5_000;

/** @throws StorageUnavailable when the file is not there or is no database */
export function sqliteReader(path: string): Driver {
  const db = open(path);
  const run = runner(db);
  const begin = db.prepare('BEGIN');
  const end = db.prepare('COMMIT');
  const refuse = (): Promise<never> =>
    Promise.reject(new Error('this connection only reads the database'));
  return {
    dialect: 'sqlite',
    write: refuse,
    // Another process writes: only a transaction keeps two statements on one state.
    read: (body) =>
      new Promise((resolve) => {
        try {
          begin.run();
          try {
            resolve(drive(body(), run));
          } finally {
            end.run();
          }
        } catch (error) {
          throw sqliteError(error);
        }
      }),
    close: () => {
      db.close();
      return Promise.resolve();
    },
  };
}

function open(path: string): Database.Database {
  try {
    return openSqlite(path, { readonly: true, fileMustExist: true, timeout: busyTimeoutMs });
  } catch (error) {
    throw sqliteError(error);
  }
}
