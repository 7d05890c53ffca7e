import { describe, expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** The rule ids of docs/SPEC.md: first cells of its tables, and the bold heads of the protocol. */
const spec = readFileSync('docs/SPEC.md', 'utf8');
const rules = [
  ...spec.matchAll(/^\| ([TCSAMOFUVQ]\d+) +\|/gm),
  ...spec.matchAll(/^\*\*(P\d+) /gm),
].map(([, id = '']) => id);

/** Every string of the tests, in which names stand. */
const files = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => path.join('test', file));
const names = files.flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(/'[^'\n]*'/g)].map(([text]) => text),
);

describe('docs/SPEC.md', () => {
  test('has its rules', () => {
    expect(rules.length).toBeGreaterThanOrEqual(30);
    expect(new Set(rules).size).toBe(rules.length);
  });

  test.each(rules)('a test carries %s in its name', (id) => {
    const carried = new RegExp(`^'(.*[ (])?${id}[ :,]`);
    expect(names.filter((name) => carried.test(name))).not.toEqual([]);
  });

  test('names only files that exist', () => {
    const named = [...spec.matchAll(/`((?:[a-z-]+\/)+[a-z-]+\.[a-z.]+)`/g)].map(
      ([, file = '']) => file,
    );
    const missing = named.filter((file) => {
      try {
        readFileSync(file);
        return false;
      } catch {
        return true;
      }
    });
    expect(missing).toEqual([]);
  });
});
