import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { copyFile, mkdtemp, readdir, rm, writeFile, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { walkStore } from '../../cli/fsck-walk.js';
import { backupStore } from '../../storage/backup.js';
import { InstanceLocked, lockInstance } from '../../storage/lock-sqlite.js';
import { openStorage } from '../../storage/open.js';
import { openOperatorStore } from '../../storage/operator-store.js';
import { SchemaMismatch } from '../../storage/port.js';
import type { Storage } from '../../storage/port.js';
import { adoptRestored, restoreFile } from '../../storage/restore.js';
import { StoreReplaced, watchStore } from '../../storage/store-watch.js';
import { openDatabase } from '../support/database.js';
import { Scenario } from '../support/storage-scenario.js';
import { committedState, rowsOf } from './scenario-state.js';
import { openSqlite } from '../../storage/sqlite-library.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'everthread-backup-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

let count = 0;
/** A store of its own in a new folder. */
async function openStore(): Promise<{ readonly file: string; readonly storage: Storage }> {
  const file = path.join(folder, `${++count}`, 'everthread.db');
  return {
    file,
    storage: await openStorage({ kind: 'sqlite', path: file }, { autoMigrate: true }),
  };
}
const backupName = (): string => path.join(folder, `backup-${++count}.db`);

async function findingsIn(file: string): Promise<readonly unknown[]> {
  const store = await openOperatorStore({ kind: 'sqlite', path: file }, 'check');
  try {
    return (await walkStore({ store, repair: false })).findings;
  } finally {
    await store.close();
  }
}

describe('everthread backup', () => {
  test('O3 a copy taken while turns are being written is whole, and of one moment', async () => {
    const { file, storage } = await openStore();
    const s = new Scenario(storage);
    const stop = new AbortController();
    let written = 0;
    const writing = (async () => {
      for (; !stop.signal.aborted; written++) {
        await committedState(s, `text ${written}`.repeat(200));
      }
    })();
    const copies = [backupName(), backupName(), backupName()];
    for (const copy of copies) {
      expect(await backupStore(file, copy)).toMatchObject({ store: storage.store });
    }
    stop.abort();
    await writing;
    expect(written).toBeGreaterThan(0);
    await storage.close();
    for (const copy of copies) expect(await findingsIn(copy)).toEqual([]);
    expect((await readdir(folder)).filter((name) => name.includes('partial'))).toEqual([]);
  });

  test('O3 it never replaces a file, and copies nothing but a store', async () => {
    const { file, storage } = await openStore();
    const copy = backupName();
    await backupStore(file, copy);
    await expect(backupStore(file, copy)).rejects.toThrow('exists already');
    await expect(backupStore(`${file}.none`, backupName())).rejects.toThrow('There is no database');
    const text = path.join(folder, 'text.db');
    await writeFile(text, 'not a database, and long enough to be looked at'.repeat(100));
    await expect(backupStore(text, backupName())).rejects.toThrow('no SQLite database');
    await storage.close();
  });
});

describe('everthread restore', () => {
  /** A committed turn and a running one that has flushed, then a backup, then a future that will be lost. */
  async function withBackup() {
    const { file, storage } = await openStore();
    const s = new Scenario(storage);
    await committedState(s, 'kept');
    const pending = await s.turn();
    const { claim, baseVersion } = await s.claimed();
    await storage.claims.flush(claim, rowsOf(claim.seq, baseVersion, 'half'));
    const copy = backupName();
    await backupStore(file, copy);
    return { file, storage, s, pending, claim, copy };
  }

  test('O4 P1 the restored store has a new id, its turns higher fences, and the file before it is kept', async () => {
    const { file, storage, s, pending, claim, copy } = await withBackup();
    await storage.close();
    const { kept, ...restored } = await restoreFile(file, copy);
    expect(restored).toMatchObject({ before: storage.store, unsettled: 1 });
    expect(kept).not.toBeNull();
    const again = await openStorage({ kind: 'sqlite', path: file }, { autoMigrate: false });
    expect(again.store).toBe(restored.store);
    expect(again.store).not.toBe(storage.store);
    const after = new Scenario(again, s.thread);
    expect((await after.get(pending.turnId)).fence).toBeGreaterThan(claim.fence + 1_000);
    const next = await after.claimed({ runId: 'a run of the new store' });
    expect(next).toMatchObject({ hasRows: true, claim: { turnId: pending.turnId } });
    await again.close();
    expect(await findingsIn(file)).toEqual([]);
    expect(await findingsIn(kept ?? '')).toEqual([]);
  });

  test('O4 a claim of the lost time writes nothing, not even to a turn that got the same number', async () => {
    const { file, storage, s, claim, copy } = await withBackup();
    await s.commit(claim);
    await s.turn();
    const lost = (await s.claimed()).claim; // seq 3, fence 1, of a time that will be lost
    await storage.close();
    await restoreFile(file, copy);
    const again = await openStorage({ kind: 'sqlite', path: file }, { autoMigrate: false });
    const after = new Scenario(again, s.thread);
    expect(await after.commit(claim)).toEqual({ kind: 'fence_lost' });
    await after.commit((await after.claimed()).claim);
    const other = await after.turn({ input: { kind: 'message', text: 'another future' } });
    const { claim: present } = await after.claimed();
    expect(present).toMatchObject({ seq: lost.seq, fence: lost.fence, epoch: lost.epoch });
    expect(await after.commit(lost)).toEqual({ kind: 'fence_lost' });
    expect(await after.get(other.turnId)).toMatchObject({ status: 'running', response: '' });
    expect(await after.commit(present)).toMatchObject({ kind: 'settled' });
    await again.close();
  });

  test('O4 it refuses while a running instance holds the file', async () => {
    const { file, storage, copy } = await withBackup();
    await expect(restoreFile(file, copy)).rejects.toThrow(InstanceLocked);
    await storage.close();
    const lock = lockInstance(file);
    await expect(adoptRestored({ kind: 'sqlite', path: file })).rejects.toThrow(InstanceLocked);
    lock.release();
  });

  test('O4 it refuses what is no store, a newer one and a damaged one, and changes nothing', async () => {
    const { file, storage, copy } = await withBackup();
    await storage.close();
    const other = path.join(folder, 'other.db');
    openSqlite(other).exec('CREATE TABLE things (id INTEGER)').close();
    await expect(restoreFile(file, other)).rejects.toThrow(SchemaMismatch);
    const newer = path.join(folder, 'newer.db');
    await copyFile(copy, newer);
    const known = openSqlite(newer);
    const { migrations } = known.prepare('SELECT migrations FROM et_schema').get() as {
      migrations: string;
    };
    const more = [...(JSON.parse(migrations) as unknown[]), { name: '9999_later', checksum: 'x' }];
    known.prepare('UPDATE et_schema SET migrations = ?').run(JSON.stringify(more));
    known.close();
    await expect(restoreFile(file, newer)).rejects.toThrow('newer than this build');
    await expect(restoreFile(file, `${copy}.none`)).rejects.toThrow('There is no file');
    const { size } = await stat(copy);
    for (const left of [size - 1_024, Math.floor(size / 2), 5_000, 700, 50]) {
      const cut = path.join(folder, `cut-${left}.db`);
      await copyFile(copy, cut);
      await truncate(cut, left);
      // By its own name, not by that of the copy which was on its way.
      await expect(restoreFile(file, cut)).rejects.toThrow(`${cut} is `);
    }
    const same = await openStorage({ kind: 'sqlite', path: file }, { autoMigrate: false });
    expect(same.store).toBe(storage.store);
    await same.close();
  });

  test('O4 a process that runs on a restored PostgreSQL notices it and ends', async () => {
    const database = await openDatabase('postgres');
    if (database.target.kind !== 'postgres') throw new Error('PostgreSQL was asked for');
    const s = new Scenario(database.storage);
    await committedState(s, 'kept');
    await s.turn();
    const { claim } = await s.claimed();
    const watch = watchStore(database.storage, 20);
    await database.storage.ping();
    const restored = await adoptRestored(database.target);
    expect(restored).toMatchObject({ before: database.storage.store, unsettled: 1 });
    await expect(watch.replaced).rejects.toThrow(StoreReplaced);
    watch.stop();
    expect(await s.commit(claim)).toEqual({ kind: 'fence_lost' });
    await database.close();
  });
});
