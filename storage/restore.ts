/** Puts a backup in the place of a store and gives it a life of its own (O4, P1): a new id, higher fences, no run of before. */
import { existsSync } from 'node:fs';
import { copyFile, link, mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { copyDatabase, provenStore, toDisk } from './backup.js';
import { postgresDriver } from './driver-postgres.js';
import { sqliteDriver } from './driver-sqlite.js';
import { lockInstance } from './lock-sqlite.js';
import { checkSchema, migrate, newStoreId } from './migrate.js';
import type { DurableTarget } from './operator-store.js';
import { first, run, type Driver, type Tx } from './tx.js';

export interface Restored {
  /** Id of the store that the backup was taken of, and the new one. */
  readonly before: string;
  readonly store: string;
  /** Unsettled turns: they run again under the new id. */
  readonly unsettled: number;
}

/**
 * Replaces the SQLite file at `place` by the backup `from`.
 * @returns also where the replaced file is kept; null when there was none
 * @throws InstanceLocked when a running instance holds the file; SchemaMismatch; Error when `from` is damaged
 */
export async function restoreFile(
  place: string,
  from: string,
): Promise<Restored & { readonly kept: string | null }> {
  if (!existsSync(from)) throw new Error(`There is no file ${from}.`);
  await mkdir(path.dirname(path.resolve(place)), { recursive: true });
  const lock = lockInstance(place);
  const incoming = `${place}.restoring`;
  try {
    await copyDatabase(from, incoming);
    await provenStore(incoming, from);
    const restored = await newLife(incoming);
    await toDisk(incoming);
    const kept = existsSync(place) ? await keepAside(place) : null;
    await rename(incoming, place);
    await toDisk(path.dirname(path.resolve(place)));
    return { ...restored, kept };
  } finally {
    await rm(incoming, { force: true });
    lock.release();
  }
}

/**
 * Gives a database that was put in its place by other means (`pg_restore`, a copied file) its new life.
 * @throws SchemaMismatch; InstanceLocked
 */
export async function adoptRestored(target: DurableTarget): Promise<Restored> {
  if (target.kind === 'postgres') {
    const driver = await postgresDriver({ ...target, timeoutMs: longTimeoutMs });
    try {
      await checkSchema(driver);
      return await driver.write(() => beginAgain());
    } finally {
      await driver.close();
    }
  }
  if (!existsSync(target.path)) throw new Error(`There is no database file ${target.path}.`);
  const lock = lockInstance(target.path);
  try {
    await provenStore(target.path);
    return await newLife(target.path);
  } finally {
    lock.release();
  }
}

/** Every unsettled turn and every thread is touched once. */
const longTimeoutMs = 60 * 60_000;

async function newLife(file: string): Promise<Restored> {
  const driver: Driver = sqliteDriver(file);
  try {
    await migrate(driver);
    return await driver.write(() => beginAgain());
  } finally {
    await driver.close();
  }
}

/**
 * A run of before may still write under a claim of a time that is lost: its fence may be any small number above the stored one,
 * so the new fences begin at the clock. Its workflow ends by itself, since its activities are of another store.
 */
function* beginAgain(): Tx<Restored> {
  const schema = yield* first<{ store: string }>(`SELECT store FROM et_schema {for update}`);
  if (schema === undefined) throw new Error('et_schema has no row.');
  yield* run(
    `UPDATE et_threads SET run_id = NULL, swept_at_ms = 0 WHERE run_id IS NOT NULL OR swept_at_ms > 0`,
  ); // P4: threads first
  const unsettled = yield* run(
    `UPDATE et_turns SET fence = CASE WHEN fence >= {now} THEN fence + 1 ELSE {now} END, released = 1,
       run_id = NULL, activity_id = NULL, attempt = NULL WHERE settled_at_ms IS NULL`,
  );
  yield* run(`DELETE FROM et_drafts`);
  yield* run(`DELETE FROM et_runs`);
  const store = newStoreId();
  yield* run(`UPDATE et_schema SET store = $1`, store);
  return { before: schema.store, store, unsettled };
}

/** At no moment is the place without a whole store: a start in between must not make an empty one. */
async function keepAside(place: string): Promise<string> {
  const kept = `${place}.replaced-${new Date().toISOString().replace(/[:.]/g, '-')}`;
  await foldLog(place);
  await link(place, kept).catch(() => copyFile(place, kept));
  for (const suffix of ['-wal', '-shm']) {
    if (existsSync(place + suffix)) await rename(place + suffix, kept + suffix);
  }
  return kept;
}

/** The last connection that closes writes the log back into the file; a damaged one keeps it. */
async function foldLog(place: string): Promise<void> {
  try {
    await sqliteDriver(place).close();
  } catch {
    // It is kept as it is.
  }
}
