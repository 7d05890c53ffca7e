/** What turns write to the SQLite file of a running product: pages in its log, and the bytes of the rows themselves. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { openSqlite } from '../storage/sqlite-library.js';

const fileIn = (dataFolder: string): string => path.join(dataFolder, 'everthread.db');

/** A running product may hold the write lock for a moment. */
const busyMs = 5_000;

/** What a window of turns has put into the log. */
export interface Logged {
  readonly bytes: number;
  /** COMMITs: transactions that were made at the same moment share one, so only turns one by one show how many a turn has. */
  readonly commits: number;
}

/**
 * Runs turns on an empty log and says how long it has become. It would start over after 1,000 pages, about 60 turns: one who
 * reads an old state of the file keeps it from that.
 */
export async function logged(dataFolder: string, turns: () => Promise<void>): Promise<Logged> {
  const file = fileIn(dataFolder);
  const db = openSqlite(file, { timeout: busyMs });
  try {
    db.pragma('wal_checkpoint(TRUNCATE)');
    db.exec('BEGIN');
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    await turns();
    db.exec('COMMIT');
    const log = readFileSync(`${file}-wal`);
    return { bytes: log.length, commits: commitsIn(log) };
  } finally {
    db.close();
  }
}

/** A log begins with a header that tells the size of a page; each frame has one before its page, and the last of a transaction is marked. */
const [logHeaderBytes, frameHeaderBytes, pageSizeAt, commitMarkAt] = [32, 24, 8, 4] as const;

function commitsIn(log: Buffer): number {
  if (log.length < logHeaderBytes) return 0;
  const frameBytes = frameHeaderBytes + log.readUInt32BE(pageSizeAt);
  let commits = 0;
  for (let at = logHeaderBytes; at + frameBytes <= log.length; at += frameBytes)
    if (log.readUInt32BE(at + commitMarkAt) !== 0) commits += 1;
  return commits;
}

const tables = ['et_turns', 'et_checkpoints', 'et_deltas', 'et_writes'];

/** Bytes of all column values in the rows that the thread's turns of these numbers have left, keys included. */
export function rowBytes(
  dataFolder: string,
  thread: string,
  [from, to]: readonly [from: number, to: number],
): number {
  const db = openSqlite(fileIn(dataFolder), { readonly: true, timeout: busyMs });
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
