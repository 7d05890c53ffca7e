/** Where the CPU of a profiled process went, by package: self time of each function, under the folder that it stands in. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Table } from './table.js';

interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** One table for each thread that has left a profile. */
export function profileTables(folder: string): readonly Table[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.cpuprofile'))
    .map((name) => {
      const profile = JSON.parse(readFileSync(path.join(folder, name), 'utf8')) as Profile;
      return {
        title: `CPU profile ${name}`,
        columns: ['', 'ms', '% of busy'],
        rows: rowsOf(profile),
      };
    });
}

const shownRows = 25;
/** Some functions are named by a long regular expression. */
const shownChars = 60;

function rowsOf({ nodes, samples, timeDeltas }: Profile): string[][] {
  const places = new Map(nodes.map((n) => [n.id, placeOf(n.callFrame)]));
  const sums = new Map<string, number>();
  samples.forEach((id, n) => {
    const place = places.get(id) ?? '?';
    if (place !== '(idle)') sums.set(place, (sums.get(place) ?? 0) + (timeDeltas[n] ?? 0) / 1_000);
  });
  const busy = [...sums.values()].reduce((a, b) => a + b, 0);
  return [...sums]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, shownRows)
    .map(([place, ms]) => [
      place.slice(0, shownChars),
      ms.toFixed(0),
      ((ms * 100) / busy).toFixed(1),
    ]);
}

function placeOf({ functionName, url }: Profile['nodes'][number]['callFrame']): string {
  if (url === '') return functionName === '' ? '(native)' : functionName;
  if (url.startsWith('node:')) return `node: ${url.slice(5).split('/').slice(0, 2).join('/')}`;
  const inPackage = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1];
  if (inPackage !== undefined) return inPackage;
  return `ours: ${/\/dist\/([^/]+)/.exec(url)?.[1] ?? path.basename(url)}`;
}
