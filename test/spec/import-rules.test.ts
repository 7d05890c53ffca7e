import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = process.cwd();
const folders =
  'contracts workflows activities engine storage api cli config llm memory metrics tracing'.split(
    ' ',
  );
const bin = path.join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
const houses: string[] = [];

/** A house of the same layout, with these files planted in it. */
async function houseWith(planted: Record<string, string>): Promise<string> {
  const house = await mkdtemp(path.join(tmpdir(), 'everthread-imports-'));
  houses.push(house);
  const files: Record<string, string> = {
    ...Object.fromEntries(folders.map((f) => [`${f}/room.ts`, 'export const room = 1;\n'])),
    'contracts/protocol.ts': 'export const name = 1;\n',
    'tsconfig.json': '{"compilerOptions":{"module":"nodenext"}}\n',
    'package.json': '{"type":"module"}\n',
    ...planted,
  };
  await Promise.all(folders.map((f) => mkdir(path.join(house, f))));
  for (const [file, text] of Object.entries(files)) await writeFile(path.join(house, file), text);
  await symlink(path.join(root, 'node_modules'), path.join(house, 'node_modules'));
  await cp(path.join(root, '.dependency-cruiser.cjs'), path.join(house, '.dependency-cruiser.cjs'));
  return house;
}
afterAll(() => Promise.all(houses.map((h) => rm(h, { recursive: true, force: true }))));

/** Each broken rule with the file that breaks it. */
async function broken(house: string): Promise<readonly string[]> {
  const args = [bin, '--config', '.dependency-cruiser.cjs', '--output-type', 'json', ...folders];
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, args, { cwd: house, maxBuffer: 1 << 24 }, (_error, stdout) =>
      resolve(stdout),
    );
  });
  const { summary } = JSON.parse(output) as {
    summary: { violations: { from: string; rule: { name: string } }[] };
  };
  return summary.violations.map((v) => `${v.from}: ${v.rule.name}`);
}

const valueOf = (what: string): string =>
  `import { room } from '${what}';\nexport const x = room;\n`;
const plants: readonly (readonly [file: string, code: string, rule: string])[] = [
  ['workflows/runs-activity.ts', valueOf('../activities/room.js'), 'workflows-are-deterministic'],
  ['workflows/runs-zod.ts', "export { z } from 'zod';\n", 'workflows-are-deterministic'],
  ['contracts/protocol.ts', "export { z } from 'zod';\n", 'protocol-is-bare'],
  ['contracts/reaches-out.ts', valueOf('../storage/room.js'), 'contracts-stand-alone'],
  [
    'engine/temporal.ts',
    "export { Client } from '@temporalio/client';\n",
    'only-edges-name-temporal',
  ],
  ['engine/storage.ts', valueOf('../storage/room.js'), 'engine-knows-no-storage'],
  ['api/sql.ts', "export { Pool } from 'pg';\n", 'only-storage-names-sql'],
  ['storage/reaches-up.ts', valueOf('../api/room.js'), 'siblings-do-not-reach-up'],
  ['config/root.ts', valueOf('../cli/room.js'), 'nobody-imports-a-root'],
  ['memory/reads-rows.ts', valueOf('../storage/room.js'), 'memory-is-a-pure-core'],
  [
    'memory/reads-files.ts',
    "export { readFile } from 'node:fs/promises';\n",
    'memory-is-a-pure-core',
  ],
  ['llm/express.ts', "export { Router } from 'express';\n", 'only-api-names-express'],
  ['api/counts.ts', "export { Counter } from 'prom-client';\n", 'only-metrics-counts'],
  ['metrics/asks.ts', valueOf('../storage/room.js'), 'metrics-and-tracing-wrap-ports'],
  ['tracing/asks.ts', valueOf('../storage/room.js'), 'metrics-and-tracing-wrap-ports'],
  [
    'api/spans.ts',
    "export { trace } from '@opentelemetry/api';\n",
    'only-tracing-names-opentelemetry',
  ],
];

describe('import rules', () => {
  let found: readonly string[];
  beforeAll(async () => {
    found = await broken(
      await houseWith(Object.fromEntries(plants.map(([file, code]) => [file, code]))),
    );
  });

  test.each(plants.map(([file, , rule]) => [file, rule]))('%s trips %s', (file, rule) => {
    expect(found).toContain(`${file}: ${rule}`);
  });

  test('a clean house breaks none, and a type may cross where a value may not', async () => {
    const type =
      "import type { room } from '../activities/room.js';\nexport type X = typeof room;\n";
    expect(await broken(await houseWith({ 'workflows/fine.ts': type }))).toEqual([]);
  });
});
