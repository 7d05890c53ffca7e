/** The data folder, made when it is missing. */
import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';

/**
 * Makes the folder and those above it, one by one: a recursive mkdir of Node never ends below /proc.
 * @throws Error that names the setting
 */
export function ensureDataFolder(folder: string): void {
  try {
    make(path.resolve(folder));
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new Error(
      `The data folder ${folder} cannot be made (${code}). Set EVERTHREAD_DATA to a folder that this user may write to.`,
      { cause: error },
    );
  }
}

function make(folder: string): void {
  if (existsSync(folder)) return;
  make(path.dirname(folder));
  mkdirSync(folder);
}
