/** What turns write to the SQLite file of a running product: pages in its log, and the bytes of the rows themselves. */
import Database from 'better-sqlite3';
import { statSync } from 'node:fs';
import path from 'node:path';

const fileIn = (dataFolder: string): string => path.join(dataFolder, 'everthread.db');

/** A running product may hold the write lock for a moment. */
const busyMs = 5_000;

/**
 * Runs turns on an empty log and says how long it has become. The window must stay below the 1,000 pages after which
 * SQLite starts the log over; a turn writes about 16.
 */
export async function loggedBytes(dataFolder: string, turns: () => Promise<void>): Promise<number> {
  const file = fileIn(dataFolder);
  const db = new Database(file, { timeout: busyMs });
  try {
    db.pragma('wal_checkpoint(TRUNCATE)');
    const before = logSize(file);
    await turns();
    return logSize(file) - before;
  } finally {
    db.close();
  }
}

const logSize = (file: string): number => statSync(`${file}-wal`).size;

const tables = ['et_turns', 'et_checkpoints', 'et_deltas', 'et_writes'];

/** Bytes of all column values in the rows that the thread's turns of these numbers have left, keys included. */
export function rowBytes(
  dataFolder: string,
  thread: string,
  [from, to]: readonly [from: number, to: number],
): number {
  const db = new Database(fileIn(dataFolder), { readonly: true, timeout: busyMs });
  try {
    return tables.reduce((sum, table) => {
      const columns = db.prepare(`SELECT name FROM pragma_table_info('${table}')`).all() as {
        name: string;
      }[];
      const size = columns.map(({ name }) => `coalesce(length(CAST(${name} AS BLOB)), 0)`);
      const row = db
        .prepare(
          `SELECT sum(${size.join(' + ')}) AS bytes FROM ${table} WHERE thread_id = ? AND seq BETWEEN ? AND ?`,
        )
        .get(thread, from, to) as { bytes: number | null };
      return sum + (row.bytes ?? 0);
    }, 0);
  } finally {
    db.close();
  }
}
