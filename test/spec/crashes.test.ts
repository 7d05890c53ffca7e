import { describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';

const text = readFileSync('docs/CRASHES.md', 'utf8');
/** A file in backticks, then its test names in curly quotes, one or more. */
const named = [...text.matchAll(/`(test\/[\w./-]+\.ts)` ((?:“[^”]+”(?:, )?)+)/g)].flatMap(
  ([, file = '', names = '']) =>
    [...names.matchAll(/“([^”]+)”/g)].map(([, name = '']) => [file, name] as const),
);
const ids = Array.from({ length: 36 }, (_, n) => `W${n + 1}`);

describe('docs/CRASHES.md', () => {
  test.each(ids)('has a row for %s, with a test', (id) => {
    const row = new RegExp(`^\\| ${id} +\\|.*$`, 'm').exec(text)?.[0] ?? '';
    expect(row).toMatch(/`test\/[^`]+\.ts` “/);
  });

  test('leaves nothing to do', () => {
    expect(text).not.toMatch(/TODO|TBD/);
    expect(named.length).toBeGreaterThan(60);
  });

  test('names only tests that exist', () => {
    const missing = named.filter(([file, name]) => !readFileSync(file, 'utf8').includes(name));
    expect(missing).toEqual([]);
  });
});
