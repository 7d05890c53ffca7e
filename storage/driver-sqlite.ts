/** Runs transactions on SQLite: synchronously inside `BEGIN IMMEDIATE`, so none ever spans an await (P4). */
import type Database from 'better-sqlite3';
import { translator, type Translated } from './dialect.js';
import { groupedWrites } from './grouped-writes.js';
import { sqliteError } from './sqlite-errors.js';

import type { Answer, Driver, Row, SqlValue, Statement, Tx } from './tx.js';
import { openSqlite } from './sqlite-library.js';

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
  const writes = groupedWrites(db);
  return {
    dialect: 'sqlite',
    write: (body) => writes.add(() => drive(body(), run)),
    // One connection and no await inside: nothing can change between two statements of a read.
    read: (body) => settled(() => drive(body(), run)),
    emptyLog: () => settled(() => emptyLog(db)),
    close: () =>
      settled(() => {
        writes.flush();
        db.close();
      }),
  };
}

function openDatabase(path: string): Database.Database {
  try {
    const db = openSqlite(path, { timeout: busyTimeoutMs });
    // Small pages: a turn rewrites a few rows, and the log takes whole pages (15.6 kB a turn instead of 51).
    db.pragma('page_size = 1024');
    db.pragma('journal_mode = WAL');
    // An acknowledged commit survives a power cut.
    db.pragma('synchronous = FULL');
    db.pragma('foreign_keys = OFF');
    // What is deleted is overwritten at once (P8). It costs nothing to measure: the page is written anyway.
    db.pragma('secure_delete = ON');
    return db;
  } catch (error) {
    throw sqliteError(error);
  }
}

/** A reader in another process (a check, a backup) may need the log: then it goes with the next one, and nobody waits. */
function emptyLog(db: Database.Database): void {
  db.pragma('busy_timeout = 0');
  try {
    db.pragma('wal_checkpoint(TRUNCATE)');
  } finally {
    db.pragma(`busy_timeout = ${busyTimeoutMs}`);
  }
}

export function drive<T>(body: Tx<T>, run: (statement: Statement) => Answer): T {
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
export function runner(db: Database.Database): (statement: Statement) => Answer {
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

/** The port is asynchronous, SQLite is not: what is read stands when the promise exists. */
function settled<T>(work: () => T): Promise<T> {
  return new Promise((resolve) => {
    try {
      resolve(work());
    } catch (error) {
      throw sqliteError(error);
    }
  });
}
