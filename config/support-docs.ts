/** Where the support agent's documents stand. */
import { statSync } from 'node:fs';
import type { SettingReader } from './problems.js';
import * as shape from './shapes.js';

/** Null takes the shipped documents; a folder that is not there is a problem now, not at the first question. */
export function resolveSupportDocs(
  reader: SettingReader,
  inFolder: (file: string) => string,
): string | null {
  const given = reader.read('EVERTHREAD_SUPPORT_DOCS', shape.path, undefined);
  if (given === undefined) return null;
  const folder = inFolder(given);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
    reader.refuse({
      variable: 'EVERTHREAD_SUPPORT_DOCS',
      wrong: `is ${JSON.stringify(given)}, and there is no folder ${folder}`,
      allowed: 'a folder of Markdown files',
    });
  }
  return folder;
}
