/** `everthread backup <file>`: copies a SQLite store while it runs. PostgreSQL brings its own tools. */
import { resolveConfig } from '../config/config.js';
import { describeStorage } from '../config/storage.js';
import path from 'node:path';
import { makeFolder } from '../config/data-folder.js';
import { readEnvironment } from '../config/env.js';
import { backupStore } from '../storage/backup.js';

/** @returns the exit code */
export async function backup(file: string): Promise<number> {
  const { storage } = resolveConfig(readEnvironment({ withDotenv: true }), { command: 'operate' });
  if (storage.kind !== 'sqlite') {
    throw new Error(
      'PostgreSQL is backed up by its own tools (pg_dump, a base backup with WAL archiving): see docs/OPERATIONS.md.',
    );
  }
  makeFolder(path.dirname(path.resolve(file)));
  const { store, bytes } = await backupStore(storage.path, file);
  process.stdout.write(
    `${describeStorage(storage)}, store ${store}, copied to ${file} (${bytes} bytes, checked)\n`,
  );
  return 0;
}
