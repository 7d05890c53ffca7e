import { resolveConfig } from '../config/config.js';
import { describeStorage } from '../config/storage.js';
import { readEnvironment } from '../config/env.js';
import { migrateStorage } from '../storage/open.js';

/** `everthread migrate`: applies the missing migrations and prints their names. @returns the exit code */
export async function migrate(): Promise<number> {
  const { storage } = resolveConfig(readEnvironment({ withDotenv: false }), { command: 'migrate' });
  if (storage.kind === 'memory') throw new Error('There is nothing to migrate in memory.');
  const applied = await migrateStorage(storage);
  for (const name of applied) process.stdout.write(`applied ${name}\n`);
  const outcome = applied.length === 0 ? 'was up to date' : 'is up to date';
  process.stdout.write(`${describeStorage(storage)} ${outcome}\n`);
  return 0;
}
