/** Runs transactions on SQLite: synchronously inside `BEGIN IMMEDIATE`, so none ever spans an await (P4). */
import Database from 'better-sqlite3';
import { translator, type Translated } from './dialect.js';
import { CommitUnknown, StorageUnavailable, Unstorable } from './port.js';
import type { Answer, Driver, Row, SqlValue, Statement, Tx } from './tx.js';

/** A shell or a backup tool that writes is waited for this long, and the whole process waits with it. */
const busyTimeoutMs = 1_000;

interface Prepared {
  readonly statement: Database.Statement;
  readonly arrange: Translated['arrange'];
}

/** Opens the file, or a database in memory with `:memory:`. */
export function sqliteDriver(path: string): Driver {
  const db = openDatabase(path);
  const run = runner(db);
  const [begin, commit, rollback] = ['BEGIN IMMEDIATE', 'COMMIT', 'ROLLBACK'].map((sql) =>
    db.prepare(sql),
  ) as [Database.Statement, Database.Statement, Database.Statement];

  const undo = (): void => {
    if (db.inTransaction) rollback.run();
  };
  const write = <T>(body: () => Tx<T>): T => {
    begin.run();
    let result: T;
    try {
      result = drive(body(), run);
    } catch (error) {
      undo();
      throw error;
    }
    try {
      commit.run();
    } catch (error) {
      undo();
      throw commitError(error);
    }
    return result;
  };
  return {
    dialect: 'sqlite',
    write: (body) => settled(() => write(body)),
    // One connection and no await inside: nothing can change between two statements of a read.
    read: (body) => settled(() => drive(body(), run)),
    close: () => settled(() => void db.close()),
  };
}

function openDatabase(path: string): Database.Database {
  try {
    const db = new Database(path, { timeout: busyTimeoutMs });
    // Small pages: a turn rewrites a few rows, and the log takes whole pages (15.6 kB a turn instead of 51).
    db.pragma('page_size = 1024');
    db.pragma('journal_mode = WAL');
    // An acknowledged commit survives a power cut.
    db.pragma('synchronous = FULL');
    db.pragma('foreign_keys = OFF');
    return db;
  } catch (error) {
    throw sqliteError(error);
  }
}

function drive<T>(body: Tx<T>, run: (statement: Statement) => Answer): T {
  let step = body.next();
  while (step.done !== true) {
    const statement = step.value;
    let answer: Answer;
    try {
      answer = run(statement);
    } catch (error) {
      step = body.throw(error);
      continue;
    }
    step = body.next(answer);
  }
  return step.value;
}

/** Statements are prepared once; a prepared one costs 1-5 microseconds. */
function runner(db: Database.Database): (statement: Statement) => Answer {
  const translate = translator('sqlite');
  const prepared = new Map<string, Prepared>();
  const prepare = (sql: string): Prepared => {
    const { text, arrange } = translate(sql);
    const made = { statement: db.prepare(text), arrange };
    prepared.set(sql, made);
    return made;
  };
  return ({ sql, params }) => {
    const { statement, arrange } = prepared.get(sql) ?? prepare(sql);
    const values = (arrange?.(params) ?? params) as SqlValue[];
    if (!statement.reader) return { rows: [], changes: statement.run(values).changes };
    const rows = statement.all(values) as Row[];
    return { rows, changes: rows.length };
  };
}

/** The port is asynchronous, SQLite is not: the work is done when the promise exists. */
function settled<T>(work: () => T): Promise<T> {
  return new Promise((resolve) => {
    try {
      resolve(work());
    } catch (error) {
      throw sqliteError(error);
    }
  });
}

/** By the code and not by the class: the native module is loaded once per process, its JavaScript half perhaps twice. */
export const sqliteCode = (error: unknown): string => textOf(error, 'code');

const textOf = (error: unknown, name: 'code' | 'message'): string => {
  const value = (error as Partial<Record<typeof name, unknown>> | null | undefined)?.[name];
  return typeof value === 'string' ? value : '';
};

function commitError(error: unknown): unknown {
  // After a failed write to the log nobody can say what a restart will find.
  if (!sqliteCode(error).startsWith('SQLITE_IOERR')) return error;
  return new CommitUnknown('SQLite could not confirm a commit', { cause: error });
}

/** Which of the port's errors a SQLite error is; others are ours and stay as they are. */
function sqliteError(error: unknown): unknown {
  const code = sqliteCode(error);
  if (/^SQLITE_(BUSY|LOCKED|IOERR|FULL|CANTOPEN|READONLY|NOMEM|PROTOCOL)/.test(code)) {
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
