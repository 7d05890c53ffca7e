/** The disk under `everthread dev` is full, or writing to it fails: 503, nothing corrupt, and it heals when there is room again. */
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { everthread } from '../support/processes.js';
import { startProduct } from '../support/product.js';
import type { Product } from '../support/product.js';
import { testCli } from '../support/temporal-server.js';
import { until } from '../support/until.js';
import { openSqlite } from '../../storage/sqlite-library.js';

interface Disk {
  readonly folder: string;
  /** From now on nothing that makes a file grow succeeds, for this process. */
  fill(pid: number): void;
  free(pid: number): void;
  remove(): void;
  /** What a refused turn is told. */
  readonly told: RegExp;
}

/** Room for the databases of a few turns, and full within milliseconds. */
const diskBytes = 6_000_000;

/** A file system of its own that runs out of room (ENOSPC, SQLITE_FULL). Only root may make one. */
function smallDisk(): Disk {
  const folder = mkdtempSync(path.join(tmpdir(), 'everthread-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes}`, 'tmpfs', folder]);
  const ballast = path.join(folder, 'ballast');
  return {
    folder,
    fill() {
      const file = openSync(ballast, 'w');
      for (const size of [65_536, 4_096]) {
        try {
          for (;;) writeSync(file, Buffer.alloc(size));
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        }
      }
      closeSync(file);
    },
    free: () => rmSync(ballast, { force: true }),
    remove() {
      execFileSync('umount', ['--lazy', folder]);
      rmSync(folder, { recursive: true, force: true });
    },
    told: /disk of the database is full/,
  };
}

/** A limit on the size of files (EFBIG, SQLITE_IOERR): what a failing device looks like to SQLite. */
function failingWrites(): Disk {
  const folder = mkdtempSync(path.join(tmpdir(), 'everthread-disk-'));
  const limit = (pid: number, bytes: string): void => {
    execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]);
  };
  return {
    folder,
    fill: (pid) => limit(pid, '4096'),
    free: (pid) => limit(pid, 'unlimited'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
    told: /database does not answer/,
  };
}

const isRoot = process.getuid?.() === 0;
const disks: [string, () => Disk][] = [
  ...(isRoot ? [['a full disk', smallDisk] as [string, () => Disk]] : []),
  ['writes that fail', failingWrites],
];

const undo: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

describe.each(disks)('%s under SQLite', (_, make) => {
  let product: Product;
  let disk: Disk;
  afterAll(async () => {
    await product.stop();
    disk.remove();
  });

  test('W35 A3 C1: 503 at accept, reads go on, the running turn commits when there is room, no model call twice', async () => {
    disk = make();
    const file = path.join(disk.folder, 'everthread.db');
    product = await startProduct({ EVERTHREAD_SQLITE_PATH: file });
    const pid = product.proc().child.pid ?? 0;
    expect((await product.chat('disk', 'before')).json.response).toBe('seen 1: before');
    const running = product.chat('disk', 'delay=300 into the full disk');
    await product.model.until(() => product.model.count('into the full disk') === 1);
    disk.fill(pid);
    await product.model.until(() => product.model.calls.every((call) => call.answered));
    const refused = await until('an accept to be refused', async () => {
      const answer = await product.chat('other', 'no room', { 'idempotency-key': 'k' });
      return answer.status === 200 ? undefined : answer;
    });
    expect(refused.status).toBe(503);
    expect(refused.json).toMatchObject({ code: 'unavailable' });
    expect(refused.json.detail).toMatch(disk.told);
    const read = await product.get('/v1/threads/disk');
    expect(read.json).toMatchObject({ version: 1 });
    expect((await product.get('/healthz')).status).toBe(200);
    disk.free(pid);
    expect((await running).json).toMatchObject({ status: 'committed', version: 2 });
    const again = await until('the refused turn to be taken', async () => {
      const answer = await product.chat('other', 'no room', { 'idempotency-key': 'k' });
      return answer.status === 200 ? answer : undefined;
    });
    expect(again.json).toMatchObject({ version: 1, response: 'seen 1: no room' });
    expect(product.model.count('into the full disk')).toBe(1);
    expect(product.proc().alive()).toBe(true);
    expect((await product.chat('disk', 'after')).json.response).toBe('seen 3: after');
    await product.proc().end();
    const db = openSqlite(file, { readonly: true });
    expect(db.pragma('integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    db.close();
    await product.start();
    expect((await product.get('/v1/threads/disk')).json).toMatchObject({ version: 3 });
  });
});

describe('a full disk under the Temporal dev server', () => {
  test('at the start: the error names the folder, the setting and the server', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'everthread-disk-'));
    undo.push(() => rmSync(folder, { recursive: true, force: true }));
    // The server alone may write no file beyond a few kB.
    const cli = path.join(folder, 'temporal');
    const file = openSync(cli, 'w', 0o755);
    writeSync(
      file,
      `#!/bin/sh\n[ "$1" = server ] && ulimit -f 8\nexec '${await testCli()}' "$@"\n`,
    );
    closeSync(file);
    const dev = everthread(['dev'], {
      EVERTHREAD_DATA: path.join(folder, 'data'),
      EVERTHREAD_TEMPORAL_CLI: cli,
      EVERTHREAD_TEMPORAL_PORT: '0',
      EVERTHREAD_TEMPORAL_UI_PORT: '0',
      PORT: '0',
    });
    await once(dev.child, 'exit');
    expect(dev.child.exitCode).toBe(1);
    expect(dev.log()).toContain(`The disk of ${path.join(folder, 'data')} is full or fails`);
    expect(dev.log()).toContain('EVERTHREAD_DATA');
  });
});

describe.each(disks)('%s under the running Temporal dev server', (_, make) => {
  test('A3: turns are accepted with 202, and go on when there is room, without a start by hand', async () => {
    const disk = make();
    undo.push(() => disk.remove());
    const elsewhere = mkdtempSync(path.join(tmpdir(), 'everthread-disk-'));
    undo.push(() => rmSync(elsewhere, { recursive: true, force: true }));
    const product = await startProduct({
      EVERTHREAD_DATA: disk.folder,
      EVERTHREAD_SQLITE_PATH: path.join(elsewhere, 'everthread.db'),
    });
    undo.push(() => product.stop());
    expect((await product.chat('t', 'before')).status).toBe(200);
    const record = JSON.parse(readFileSync(path.join(disk.folder, 'temporal.pid'), 'utf8')) as {
      server: { pid: number };
    };
    disk.fill(record.server.pid);
    const answer = await until('Temporal to take no more', async () => {
      const taken = await product.chat('t', 'no room', { 'idempotency-key': 'k' });
      return taken.status === 200 ? undefined : taken;
    });
    expect(answer.status).toBe(202);
    expect(answer.json).toHaveProperty('turn_id');
    disk.free(record.server.pid);
    const done = await until('the turn', async () => {
      const taken = await product.chat('t', 'no room', { 'idempotency-key': 'k' });
      return taken.status === 200 ? taken : undefined;
    });
    expect(done.json).toMatchObject({ version: 2, turn_id: answer.json.turn_id });
  });
});
