/** `everthread restore`: puts a backup in a store's place, or gives a database that was restored by other means its new life (O4). */
import { resolveConfig } from '../config/config.js';
import { describeStorage, type StorageConfig } from '../config/storage.js';
import { readEnvironment } from '../config/env.js';
import { adoptRestored, restoreFile, type Restored } from '../storage/restore.js';

export interface RestoreFlags {
  readonly inPlace?: true;
}

/** @returns the exit code */
export async function restore(file: string | undefined, flags: RestoreFlags): Promise<number> {
  const { storage } = resolveConfig(readEnvironment({ withDotenv: true }), { command: 'operate' });
  const lines = await restored(storage, file, flags.inPlace === true);
  process.stdout.write(`${lines.join('\n')}\n`);
  return 0;
}

async function restored(
  storage: StorageConfig,
  file: string | undefined,
  inPlace: boolean,
): Promise<readonly string[]> {
  if (storage.kind === 'memory') throw new Error('A store in memory ends with its process.');
  if (inPlace === (file !== undefined)) {
    throw new Error(
      'Name the file to restore, or say --in-place for a database that is restored already.',
    );
  }
  if (file === undefined) return linesOf(storage, await adoptRestored(storage));
  if (storage.kind === 'postgres') {
    throw new Error(
      'Restore PostgreSQL with its own tools, while gateways and workers are stopped, then run "everthread restore --in-place" (docs/OPERATIONS.md).',
    );
  }
  const { kept, ...rest } = await restoreFile(storage.path, file);
  const lines = linesOf(storage, rest);
  return kept === null ? lines : [...lines, `What it replaced is kept at ${kept}`];
}

function linesOf(
  storage: StorageConfig,
  { before, store, unsettled }: Restored,
): readonly string[] {
  const waiting =
    unsettled === 0
      ? 'No turn was unsettled.'
      : `${unsettled} unsettled ${unsettled === 1 ? 'turn goes' : 'turns go'} on when a worker runs.`;
  return [
    `${describeStorage(storage)} is restored: store ${before} is now store ${store}. ${waiting}`,
  ];
}
