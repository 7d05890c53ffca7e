/** The programs that the compose file's images hold, built from their Go modules: once, into the user's cache folder. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { findOnPath } from '../../temporal/cli-check.js';
import { temporalCacheFolder } from '../../temporal/cli-resolver.js';

export interface GoProgram {
  /** The file's name. */
  readonly name: string;
  readonly module: string;
  /** As the image's tag has it: `1.32.0`. */
  readonly version: string;
  /** Where the module's `main` is: `./cmd/server`. */
  readonly main: string;
  /** The module's own version, where it counts differently. */
  readonly moduleVersion?: string;
  readonly tags?: readonly string[];
}

/** Programs of one version in one folder, so that it can stand on a PATH. */
export type Programs =
  | { readonly kind: 'built'; readonly folder: string }
  | { readonly kind: 'unavailable'; readonly reason: string };

/** How to come by them. */
export interface Building {
  /** `no` takes what an earlier build has left in the cache. */
  readonly build: 'once' | 'no';
  readonly say: (line: string) => void;
}

/** Facts of the environment, given so that each can be missing. */
interface Places {
  readonly searchPath: string;
  readonly cacheFolder: string;
}

/** Where Go's own installers put it, whose PATH not every shell has. */
const usualPlaces = ['/usr/local/go/bin', '/usr/lib/go/bin', '/opt/homebrew/bin'];

const here = (): Places => ({
  searchPath: [process.env.PATH ?? '', ...usualPlaces].join(path.delimiter),
  cacheFolder: path.join(
    path.dirname(temporalCacheFolder(process.env.XDG_CACHE_HOME, homedir())),
    'programs',
  ),
});

type Say = Building['say'];

const run = promisify(execFile);
/** A module list over a slow line. */
const downloadLimitMs = 10 * 60_000;
const progressEveryMs = 10_000;

/** Builds what is not in the cache yet. The reason why not is one line, for a person. */
export async function goPrograms(
  programs: readonly GoProgram[],
  { build: wanted, say }: Building,
  { searchPath, cacheFolder } = here(),
): Promise<Programs> {
  const [{ version } = { version: '' }] = programs;
  const folder = path.join(cacheFolder, version);
  const missing = programs.filter(({ name }) => !existsSync(path.join(folder, name)));
  if (missing.length === 0) return { kind: 'built', folder };
  const names = missing.map(({ name }) => `${name} ${version}`).join(', ');
  if (wanted === 'no')
    return {
      kind: 'unavailable',
      reason: `${names}: not built here yet, which --build all does once`,
    };
  const go = await findOnPath('go', searchPath);
  if (go === undefined)
    return { kind: 'unavailable', reason: `there is no Go here to build ${names} with` };
  try {
    await mkdir(folder, { recursive: true });
    for (const program of missing) await build(go, program, folder, say);
    return { kind: 'built', folder };
  } catch (error) {
    return { kind: 'unavailable', reason: `${names} could not be built: ${lastLine(error)}` };
  }
}

/**
 * In the module's own folder, not by `go install`: that refuses a module that replaces or excludes others, as Prometheus
 * does. Versions of what it depends on are the module's; the checksum database of Go vouches for all of it.
 */
async function build(go: string, program: GoProgram, folder: string, say: Say): Promise<void> {
  const { name, version, main } = program;
  say(`${name} ${version}: building it once, which takes minutes`);
  const startedMs = performance.now();
  const env = { ...process.env, CGO_ENABLED: '0', GOWORK: 'off', GOFLAGS: '-buildvcs=false' };
  const cwd = await moduleFolder(go, program, env);
  const tags = program.tags === undefined ? [] : ['-tags', program.tags.join(',')];
  const listing = ['list', ...tags, '-deps', main];
  const options = { cwd, env, maxBuffer: 1e8, timeout: downloadLimitMs };
  const { stdout } = await run(go, listing, options);
  const packages = stdout.trim().split('\n').length;
  const scratch = await mkdtemp(path.join(folder, '.build-'));
  try {
    const file = path.join(scratch, name);
    const flags = ['-v', '-trimpath', '-ldflags=-s -w', ...tags, '-o', file];
    await compile(go, ['build', ...flags, main], { cwd, env }, (done) =>
      say(`${name} ${version}: ${done} of at most ${packages} packages`),
    );
    await rename(file, path.join(folder, name));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
  say(`${name} ${version}: built in ${((performance.now() - startedMs) / 1_000).toFixed(0)} s`);
}

async function moduleFolder(
  go: string,
  { module, version, moduleVersion = version }: GoProgram,
  env: NodeJS.ProcessEnv,
): Promise<string> {
  const download = ['mod', 'download', '-json', `${module}@v${moduleVersion}`];
  // Its error is part of the JSON document, the exit code only says that there is one.
  const { stdout } = await run(go, download, { env, timeout: downloadLimitMs }).catch(
    (error: unknown) => error as { stdout?: string },
  );
  const answer = JSON.parse(stdout === undefined || stdout === '' ? '{}' : stdout) as {
    readonly Dir?: string;
    readonly Error?: string;
  };
  if (answer.Dir === undefined) throw new Error(answer.Error ?? 'the module was not found');
  return answer.Dir;
}

/** `-v` names each package when it is compiled. */
async function compile(
  go: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
  onProgress: (packages: number) => void,
): Promise<void> {
  const child = spawn(go, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
  const killAtExit = (): boolean => child.kill('SIGTERM');
  process.once('exit', killAtExit);
  let compiled = 0;
  let last = '';
  createInterface(child.stderr).on('line', (line) => {
    if (/^[\w.-]+(\/[\w.~-]+)*$/.test(line)) compiled += 1;
    else last = line;
  });
  const ticking = setInterval(() => onProgress(compiled), progressEveryMs);
  try {
    const [code] = (await once(child, 'exit')) as [number | null];
    if (code !== 0) throw new Error(last);
  } finally {
    clearInterval(ticking);
    process.off('exit', killAtExit);
  }
}

/** Go's own last word is its reason. */
function lastLine(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message: string };
  const text = stderr === undefined || stderr.trim() === '' ? message : stderr;
  return (text.trim().split('\n').at(-1) ?? '').slice(0, 300);
}
