/** Which packages a project asks for and does not have: before `npm install`, every other complaint follows from it. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

export interface Uninstalled {
  readonly names: readonly string[];
  /** What to run, and where. */
  readonly remedy: string;
}

/** Of the package that `folder` belongs to; undefined when it has all, or is in none. */
export function uninstalledPackages(folder: string): Uninstalled | undefined {
  const above = [...ancestors(folder)];
  const home = above.find((place) => existsSync(path.join(place, 'package.json')));
  if (home === undefined) return undefined;
  const has = (name: string): boolean =>
    [...ancestors(home)].some((place) => existsSync(path.join(place, 'node_modules', name)));
  const names = dependenciesOf(path.join(home, 'package.json')).filter((name) => !has(name));
  if (names.length === 0) return undefined;
  return { names, remedy: `run \`${installerOf(home)} install\` in ${home}` };
}

function* ancestors(folder: string): Generator<string> {
  for (let place = folder; ; place = path.dirname(place)) {
    yield place;
    if (place === path.dirname(place)) return;
  }
}

/** A file that is no JSON is told by whoever loads the project. */
function dependenciesOf(manifest: string): readonly string[] {
  try {
    const { dependencies } = JSON.parse(readFileSync(manifest, 'utf8')) as {
      readonly dependencies?: Readonly<Record<string, string>>;
    };
    return Object.keys(dependencies ?? {});
  } catch {
    return [];
  }
}

const lockfiles = { 'pnpm-lock.yaml': 'pnpm', 'yarn.lock': 'yarn', 'bun.lock': 'bun' } as const;

const installerOf = (home: string): string => {
  const found = Object.entries(lockfiles).find(([file]) => existsSync(path.join(home, file)));
  return found?.[1] ?? 'npm';
};
