/** SQLite's errors in the words of the port. */
import { CommitUnknown, StorageFull, StorageUnavailable, Unstorable } from './port.js';

/** By the code and not by the class: the native module is loaded once per process, its JavaScript half perhaps twice. */
export const sqliteCode = (error: unknown): string => textOf(error, 'code');

const textOf = (error: unknown, name: 'code' | 'message'): string => {
  const value = (error as Partial<Record<typeof name, unknown>> | null | undefined)?.[name];
  return typeof value === 'string' ? value : '';
};

/** What a failed COMMIT means. */
export function commitError(error: unknown): unknown {
  // After a failed write to the log nobody can say what a restart will find.
  if (!sqliteCode(error).startsWith('SQLITE_IOERR')) return error;
  return new CommitUnknown('SQLite could not confirm a commit', { cause: error });
}

/** Which of the port's errors a SQLite error is; others are ours and stay as they are. */
export function sqliteError(error: unknown): unknown {
  const code = sqliteCode(error);
  if (code.startsWith('SQLITE_FULL')) return new StorageFull({ cause: error });
  if (/^SQLITE_(BUSY|LOCKED|IOERR|CANTOPEN|READONLY|NOMEM|PROTOCOL)/.test(code)) {
    return new StorageUnavailable(`SQLite is not available (${code})`, { cause: error });
  }
  if (/^SQLITE_(TOOBIG|CONSTRAINT|MISMATCH|RANGE)/.test(code)) {
    return new Unstorable(`SQLite cannot store this (${code})`, { cause: error });
  }
  if (textOf(error, 'message').includes('database connection is not open')) {
    return new StorageUnavailable('the SQLite database is closed', { cause: error });
  }
  return error;
}
