/** What belongs to no thread: rows without a thread, memory without a user, and a damaged SQLite file. */
import type { Dialect } from '../dialect.js';
import { query, type Tx } from '../tx.js';
import { ownerless, ownerlessMemory } from './facts.js';
import { broken, type Finding } from './finding.js';

export function* checkStore(dialect: Dialect): Tx<readonly Finding[]> {
  const orphans = (yield* ownerless()).map(({ table, rows }) =>
    broken(
      'rows_without_thread',
      {},
      `${table} holds ${rows} ${rows === 1 ? 'row' : 'rows'} of threads that are not in et_threads.`,
      { advice: "A thread's row is never removed, so it was lost: restore a backup." },
    ),
  );
  const strays = (yield* ownerlessMemory()).map(({ table, rows }) =>
    broken(
      'memory_without_owner',
      {},
      `${table} holds ${rows} ${rows === 1 ? 'row' : 'rows'} whose owner, a user or an item of a store, is not there.`,
      { advice: 'They harm nobody, but no erasure counts them: restore a backup.' },
    ),
  );
  return [...orphans, ...strays, ...(dialect === 'sqlite' ? yield* checkFile() : [])];
}

/** SQLite's own look at its pages and indexes. PostgreSQL has `amcheck` and checksums for that. */
function* checkFile(): Tx<readonly Finding[]> {
  const rows = yield* query<{ quick_check: string }>('PRAGMA quick_check(10)');
  return rows
    .filter(({ quick_check: line }) => line !== 'ok')
    .map(({ quick_check: line }) =>
      broken('file_damaged', {}, `The database file is damaged: ${line}.`, {
        advice: 'Stop the process, keep the file, and restore a backup.',
      }),
    );
}
