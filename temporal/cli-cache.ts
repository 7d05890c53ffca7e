import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { checkCli } from './cli-check.js';
import { cliFileName } from './cli-release.js';
import { refused } from './cli-routes.js';
import type { RouteOutcome, RouteSearch } from './cli-routes.js';

export const cachedCliPath = (cacheFolder: string, version: string): string =>
  path.join(cacheFolder, version, cliFileName);

/**
 * Fetches into a folder of its own beside the cache and moves the result in by one rename, so that two processes
 * may fetch at once and a killed one leaves no half a CLI. A failure is this route's refusal.
 * @param fetch puts the verified binary into the folder and returns its path
 */
export async function installFetched(
  { cacheFolder, release }: RouteSearch,
  remedy: string,
  fetch: (folder: string) => Promise<string>,
): Promise<RouteOutcome> {
  let folder: string | undefined;
  try {
    await mkdir(cacheFolder, { recursive: true });
    await removeAbandoned(cacheFolder);
    folder = await mkdtemp(path.join(cacheFolder, fetchPrefix));
    const binary = await fetch(folder);
    await chmod(binary, 0o755);
    const checked = await checkCli(binary, release.version, remedy);
    if (checked.kind === 'refused') return checked;
    const target = cachedCliPath(cacheFolder, release.version);
    await mkdir(path.dirname(target), { recursive: true });
    await rename(binary, target);
    return { ...checked, path: target };
  } catch (error) {
    return refused(reasonOf(error), remedy);
  } finally {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }
}

/** @throws if the file is not the pinned one: it is then never run */
export async function verifySha256(file: string, expected: string, what: string): Promise<void> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  const actual = hash.digest('hex');
  if (actual !== expected)
    throw new Error(`${what} has sha256 ${actual}, not the pinned ${expected}; it was not used`);
}

const fetchPrefix = '.fetch-';

/** A fetch takes minutes at most; what is older was left by a killed process. */
const abandonedAfterMs = 24 * 3_600_000;

async function removeAbandoned(cacheFolder: string): Promise<void> {
  for (const name of await readdir(cacheFolder)) {
    const folder = path.join(cacheFolder, name);
    if (!name.startsWith(fetchPrefix)) continue;
    const made = await stat(folder).catch(() => undefined);
    if (made !== undefined && Date.now() - made.mtimeMs > abandonedAfterMs)
      await rm(folder, { recursive: true, force: true });
  }
}

/** Network errors of `fetch` hide their cause one level down. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : '';
  return `${error.message}${cause}`.replaceAll(/\s*\n\s*/g, ' | ').slice(0, 500);
}
