/** The data folder, made when it is missing. */
import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import path from 'node:path';

/** @throws Error that names the setting */
export function ensureDataFolder(folder: string): void {
  try {
    makeFolder(path.resolve(folder));
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new Error(
      `The data folder ${folder} cannot be made (${code}). Set EVERTHREAD_DATA to a folder that this user may write to.`,
      { cause: error },
    );
  }
}

/** Makes the folder and those above it, one by one: a recursive mkdir of Node never ends below /proc. */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(path.dirname(folder));
  mkdirSync(folder);
}

/** Why files cannot be kept there, in words that follow the setting's name; undefined when nothing speaks against it. */
export function whyNotAFolder(folder: string): string | undefined {
  let there = path.resolve(folder);
  while (!existsSync(there)) there = path.dirname(there);
  if (!statSync(there).isDirectory()) return `is ${folder}, and ${there} is a file`;
  try {
    accessSync(there, constants.W_OK);
    return undefined;
  } catch {
    return `is ${folder}, and ${there} may not be written by this user`;
  }
}
