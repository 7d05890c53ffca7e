/** The build of SQLite that this Node loads. */
import { describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { StorageUnavailable } from '../../storage/port.js';
import { loadSqlite, openSqlite, sqlitePackages } from '../../storage/sqlite-library.js';

const require = createRequire(import.meta.url);

describe('loading SQLite', () => {
  test('the best package for this Node is there and opens a database', () => {
    expect(() => require.resolve(sqlitePackages[0] ?? '')).not.toThrow();
    const db = openSqlite(':memory:');
    expect(db.prepare('SELECT 1 AS one').get()).toEqual({ one: 1 });
    db.close();
  });

  test('one that is missing is passed over', () => {
    expect(loadSqlite(['no-such-sqlite', ...sqlitePackages])).toBe(loadSqlite(sqlitePackages));
  });

  test('when none loads, the error says why of each, and what to do', () => {
    const load = (): unknown => loadSqlite(['no-such-sqlite', 'node:path']);
    expect(load).toThrow(StorageUnavailable);
    expect(load).toThrow(/npm rebuild better-sqlite3.*EVERTHREAD_STORAGE=postgres/);
    expect(load).toThrow(/no-such-sqlite: .*Cannot find module.*node:path: /);
  });

  // Built with the headers of Node 24.19, version 12 ends the process here.
  test('garbage that is collected while no JavaScript runs ends no process', async () => {
    const script = `
      const db = new (require(process.argv[1]))(':memory:');
      let rounds = 0;
      const timer = setInterval(() => {
        for (let n = 0; n < 2_000; n += 1) db.prepare('SELECT ' + n);
        if (++rounds === 60) { clearInterval(timer); console.log('alive'); }
      }, 5);`;
    const path = require.resolve(sqlitePackages[0] ?? '');
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', script, path]);
    expect(stdout).toBe('alive\n');
  });
});
