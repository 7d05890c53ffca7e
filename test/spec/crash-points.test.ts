import { describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const declaration = readFileSync('contracts/crash-point.ts', 'utf8');
const points = [...declaration.matchAll(/^ {2}\| '([a-z-]+)'/gm)].map(([, name = '']) => name);

const product = 'workflows activities engine agents llm storage temporal worker api cli config';
const sourcesOf = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ts|mjs)$/.test(file))
    .map((file) => readFileSync(path.join(folder, file), 'utf8'));
const code = product.split(' ').flatMap(sourcesOf);
const tests = sourcesOf('test').join('\n');

describe('crash points', () => {
  test.each(points)('%s is reached in the product, once, and crashed by a test', (point) => {
    const calls = code.join('\n').split(`reachCrashPoint('${point}'`).length - 1;
    expect(calls).toBe(1);
    expect(tests).toMatch(new RegExp(`'${point}(:\\d+)?'`));
  });

  test('nothing in the product arms them', () => {
    expect(code.filter((source) => source.includes('armCrashPoints'))).toEqual([]);
  });

  test('nothing that is packed arms them: the setter is there, and nobody calls it', () => {
    const packed = JSON.parse(
      execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }),
    ) as { files: { path: string }[] }[];
    const files = (packed[0]?.files ?? []).map((file) => file.path);
    expect(files).toContain('dist/contracts/crash-point.js');
    const naming = files.filter(
      (file) =>
        file.endsWith('.js') &&
        /armCrashPoints|EVERTHREAD_TEST_CRASH/.test(readFileSync(file, 'utf8')),
    );
    expect(naming).toEqual(['dist/contracts/crash-point.js']);
  });
});
