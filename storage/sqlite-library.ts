/**
 * better-sqlite3 in the version that this Node can load. 12 derives from Node's own `ObjectWrap`; built with the headers of
 * Node 24.19 and later, it ends the process when a garbage collection meets a statement while no JavaScript runs. 13 speaks
 * Node-API instead and is safe, but needs version 10 of it, which Node 20 never got.
 */
import type Database from 'better-sqlite3';
import { createRequire } from 'node:module';
import { StorageUnavailable } from './port.js';

type Library = typeof Database;

const require = createRequire(import.meta.url);

/** The packages to try, the best one first: npm leaves out what this machine cannot have, and one of them is enough. */
export const sqlitePackages: readonly string[] =
  Number(process.versions.napi) >= 10
    ? ['better-sqlite3-napi', 'better-sqlite3']
    : ['better-sqlite3'];

let library: Library | undefined;

/**
 * Opens a database file, or one in memory with `:memory:`.
 * @throws StorageUnavailable when neither package loads here: it says why, and what to do. SQLite's own errors pass as they are
 */
export function openSqlite(file: string, options: Database.Options = {}): Database.Database {
  library ??= loadSqlite(sqlitePackages);
  return new library(file, options);
}

/** The first of these packages that opens a database. @throws StorageUnavailable when none does */
export function loadSqlite(packages: readonly string[]): Library {
  const reasons: string[] = [];
  for (const name of packages) {
    try {
      const found = require(name) as Library;
      // The native half is loaded by the first database.
      new found(':memory:').close();
      return found;
    } catch (error) {
      reasons.push(`${name}: ${firstLine(error)}`);
    }
  }
  throw new StorageUnavailable(
    `SQLite cannot be loaded on Node ${process.version}. Run \`npm rebuild better-sqlite3\` (it needs Python and a C++ compiler where no ` +
      `prebuilt one fits), or set EVERTHREAD_STORAGE=postgres. ${reasons.join('; ')}`,
  );
}

const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? '';
