/** Copies a SQLite store while it runs, and proves the copy before it counts (O3). */
import { existsSync } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { sqliteReader } from './driver-sqlite-reader.js';
import { storeIdOf } from './migrate.js';
import { sqliteCode, sqliteError } from './sqlite-errors.js';
import { openSqlite } from './sqlite-library.js';

export interface Backup {
  readonly store: string;
  readonly bytes: number;
}

/** All pages in one step: between two steps another process may write, and the copy would begin again, for ever under load. */
const allPages = 0x7fff_ffff;

/**
 * Writes a copy of the store as it stands at one moment. Its owner may go on writing.
 * @param file must not exist, and its folder must; it appears when the copy is whole and on disk
 * @throws SchemaMismatch when `source` is no store of ours
 */
export async function backupStore(source: string, file: string): Promise<Backup> {
  if (!existsSync(source)) throw new Error(`There is no database file ${source}.`);
  if (existsSync(file)) throw new Error(`${file} exists already. Name another file, or remove it.`);
  const partial = `${file}.partial`;
  try {
    await copyDatabase(source, partial);
    const store = await provenStore(partial, source);
    await toDisk(partial);
    await rename(partial, file);
    await toDisk(path.dirname(path.resolve(file)));
    return { store, bytes: (await stat(file)).size };
  } finally {
    await rm(partial, { force: true });
  }
}

/** By SQLite's online backup: one state, whatever is being written. The copy is a single file. */
export async function copyDatabase(source: string, to: string): Promise<void> {
  await rm(to, { force: true });
  try {
    const from = openSqlite(source, { readonly: true, fileMustExist: true });
    try {
      await from.backup(to, { progress: () => allPages });
    } finally {
      from.close();
    }
    const copy = openSqlite(to);
    try {
      copy.pragma('journal_mode = DELETE');
    } finally {
      copy.close();
    }
  } catch (error) {
    throw damaged(error, source);
  }
}

/** @throws Error that names `copyOf` when a page or an index of its copy is damaged; SchemaMismatch */
export async function provenStore(file: string, copyOf = file): Promise<string> {
  const db = openSqlite(file, { readonly: true });
  try {
    const answer = db.pragma('integrity_check(1)', { simple: true });
    if (answer !== 'ok') throw new Error(`${copyOf} is damaged: ${String(answer)}`);
  } catch (error) {
    throw damaged(error, copyOf);
  } finally {
    db.close();
  }
  const reader = sqliteReader(file);
  try {
    return await storeIdOf(reader);
  } finally {
    await reader.close();
  }
}

/** Says which file it is that SQLite cannot read. */
function damaged(error: unknown, file: string): unknown {
  const code = sqliteCode(error);
  if (code === 'SQLITE_NOTADB')
    return new Error(`${file} is no SQLite database.`, { cause: error });
  if (code.startsWith('SQLITE_CORRUPT'))
    return new Error(`${file} is damaged: it is cut off, or parts of it are overwritten.`, {
      cause: error,
    });
  return sqliteError(error);
}

/** A file, or a folder after its names have changed. */
export async function toDisk(name: string): Promise<void> {
  const handle = await open(name, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
