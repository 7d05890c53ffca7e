/** `everthread init`: writes a small project that runs, in a folder of its own. */
import { existsSync, statSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { makeFolder } from '../config/data-folder.js';
import { projectFiles } from './init-files.js';

export interface InitOptions {
  /** Where the project gets everthread from: a version, or the path of a packed file. */
  readonly from: string;
}

/** @throws Error when the folder holds something already */
export async function init(folder: string, { from }: InitOptions): Promise<number> {
  const source = sourceOf(from);
  if (source.startsWith('file:') && !existsSync(source.slice('file:'.length)))
    throw new Error(`There is no ${source.slice('file:'.length)} to take everthread from.`);
  const target = path.resolve(folder);
  const name = path
    .basename(target)
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[-._]+|[-._]+$/g, '');
  if (existsSync(target) && !statSync(target).isDirectory())
    throw new Error(`${target} is a file. Name a folder that does not exist yet.`);
  if (existsSync(target) && (await readdir(target)).length > 0)
    throw new Error(`${target} is not empty. Name a folder that does not exist yet.`);
  for (const [file, text] of Object.entries(
    projectFiles({ name: name === '' ? 'agent' : name, everthread: source }),
  )) {
    makeFolder(path.dirname(path.join(target, file)));
    await writeFile(path.join(target, file), text);
  }
  process.stdout.write(`${next(path.relative('.', target) || '.')}\n`);
  return 0;
}

/** A file is named from the new folder on, which is not this one. */
const sourceOf = (from: string): string =>
  /\.tgz$|^[./]/.test(from) ? `file:${path.resolve(from)}` : from;

const next = (folder: string): string => `A project is in ${folder}. Next:

  cd ${/^[\w./-]+$/.test(folder) ? folder : JSON.stringify(folder)}
  npm install
  npm test                  runs the graph by itself
  npx everthread dev        serves it; then, in another terminal:
  npx everthread chat

src/agent.ts is the graph.`;
