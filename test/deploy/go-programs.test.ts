/** Programs built from Go modules, with a `go` that only says what Go would. */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { goPrograms } from '../../bench/rehearsal/go-programs.js';

const program = { name: 'server', module: 'example.org/server', version: '1.2.3', main: './cmd' };

describe('goPrograms', () => {
  let folder: string;
  let said: string[];
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'everthread-go-'));
    said = [];
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const cacheFolder = () => path.join(folder, 'programs');
  const journal = () => path.join(folder, 'journal');
  const building = (build: 'once' | 'no') => ({
    build,
    say: (line: string) => void said.push(line),
  });
  const wanted = (build: 'once' | 'no', searchPath = folder) =>
    goPrograms([program], building(build), { searchPath, cacheFolder: cacheFolder() });

  /** `mod`, `list` and `build` do what these lines of a shell do. */
  const fakeGo = (does: { readonly mod?: string; readonly build?: string }): void => {
    const { mod = `echo '{"Dir":"${folder}"}'`, build = 'echo built >"$file"' } = does;
    const go = `#!/bin/sh
echo "$@" >>"${journal()}"
file=; for word in "$@"; do [ "$last" = -o ] && file=$word; last=$word; done
case $1 in
mod) ${mod} ;;
list) printf 'fmt\\nexample.org/server/cmd\\n' ;;
build) echo example.org/server/cmd >&2; ${build} ;;
esac
`;
    writeFileSync(path.join(folder, 'go'), go, { mode: 0o755 });
  };
  const calls = (): string[] => readFileSync(journal(), 'utf8').trim().split('\n');

  test('a program is built once, at its version, and then taken from the cache', async () => {
    fakeGo({});
    const built = { kind: 'built', folder: path.join(cacheFolder(), '1.2.3') };
    await expect(wanted('once')).resolves.toEqual(built);
    expect(calls()[0]).toBe('mod download -json example.org/server@v1.2.3');
    expect(readdirSync(built.folder)).toEqual(['server']);
    expect(said[0]).toContain('server 1.2.3: building it once');
    const before = calls().length;
    await expect(wanted('once')).resolves.toEqual(built);
    await expect(wanted('no', '')).resolves.toEqual(built);
    expect(calls()).toHaveLength(before);
  });

  test('without Go, and without leave to build, the reason is one line that says what to do', async () => {
    await expect(wanted('once', '')).resolves.toEqual({
      kind: 'unavailable',
      reason: 'there is no Go here to build server 1.2.3 with',
    });
    await expect(wanted('no')).resolves.toMatchObject({
      kind: 'unavailable',
      reason: expect.stringContaining('--build'),
    });
  });

  test("a module proxy that does not answer is named in Go's own words", async () => {
    fakeGo({ mod: `echo '{"Error":"dial tcp: no route to host"}'; exit 1` });
    await expect(wanted('once')).resolves.toMatchObject({
      kind: 'unavailable',
      reason: 'server 1.2.3 could not be built: dial tcp: no route to host',
    });
  });

  test('a build that fails leaves nothing in the cache', async () => {
    fakeGo({ build: 'echo half >"$file"; echo "go: no space left" >&2; exit 1' });
    await expect(wanted('once')).resolves.toMatchObject({
      kind: 'unavailable',
      reason: 'server 1.2.3 could not be built: go: no space left',
    });
    expect(existsSync(path.join(cacheFolder(), '1.2.3', 'server'))).toBe(false);
    expect(readdirSync(path.join(cacheFolder(), '1.2.3'))).toEqual([]);
  });
});
