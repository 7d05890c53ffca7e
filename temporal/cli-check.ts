import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { refused } from './cli-routes.js';
import type { RouteOutcome } from './cli-routes.js';

const run = promisify(execFile);

/** `temporal --version` takes 0.1 s; a cold disk on a busy machine may take seconds. */
const versionLimitMs = 20_000;

/** Runs the file once and looks at the version that it prints. */
export async function checkCli(
  file: string,
  oldest: string,
  remedy: string,
): Promise<RouteOutcome> {
  if (!(await isExecutable(file))) return refused(`${file} is not an executable file`, remedy);
  const printed = await run(file, ['--version'], { timeout: versionLimitMs }).then(
    ({ stdout }) => stdout.trim(),
    (error: unknown) => error as Error,
  );
  if (printed instanceof Error)
    return refused(`${file} does not run: ${firstLine(printed)}`, remedy);
  const version = /^temporal version (\d+\.\d+\.\d+)/.exec(printed)?.[1];
  if (version === undefined)
    return refused(`${file} is not a Temporal CLI: it prints "${printed.slice(0, 80)}"`, remedy);
  if (isOlder(version, oldest))
    return refused(`${file} is ${version}, older than ${oldest}`, remedy);
  return { kind: 'found', path: file, version };
}

/** The first executable of this name in the folders of a PATH. */
export async function findOnPath(name: string, searchPath: string): Promise<string | undefined> {
  const file = process.platform === 'win32' ? `${name}.exe` : name;
  for (const folder of searchPath.split(path.delimiter)) {
    const candidate = path.join(folder, file);
    if (path.isAbsolute(candidate) && (await isExecutable(candidate))) return candidate;
  }
  return undefined;
}

/** Compares dotted versions of three numbers. */
function isOlder(version: string, oldest: string): boolean {
  const left = version.split('.').map(Number);
  const right = oldest.split('.').map(Number);
  const at = left.findIndex((part, index) => part !== right[index]);
  return at !== -1 && (left[at] ?? 0) < (right[at] ?? 0);
}

const firstLine = (error: Error): string => error.message.trim().split('\n')[0] ?? '';

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}
