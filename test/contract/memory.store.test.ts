/** Long-term memory on every backend: the port's rules, two writers, and an erasure that is looked for in every table. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import type { Verdict } from '../../memory/facts/gate.js';
import type { Episode } from '../../memory/episodes/episode.js';
import type { MemoryBatch, MemoryOwner } from '../../memory/store.js';
import { backupStore } from '../../storage/backup.js';
import { openOperatorStore } from '../../storage/operator-store.js';
import { openStorage } from '../../storage/open.js';
import { restoreFile } from '../../storage/restore.js';
import { run } from '../../storage/tx.js';
import { disguises, findInDatabase, findInFiles } from '../operator/scan.js';
import { databaseInTests } from '../support/database-in-tests.js';
import { backends, durable, openDatabase, openDriver } from '../support/database.js';

type Accepted = Extract<Verdict, { kind: 'accepted' }>;

const at = (day: number): string => new Date(Date.UTC(2026, 0, day)).toISOString();
const owned = (userId = `user-${randomUUID()}`): MemoryOwner => ({ tenant: 'default', userId });

const lives = (value: string, more: Partial<Accepted> = {}): Accepted => ({
  kind: 'accepted',
  standing: 'verified',
  source: 'tool',
  ...more,
  candidate: {
    ...{ subject: 'user', predicate: 'city', value, text: `The user lives in ${value}.` },
    ...{ single: true, confidence: 0.9, evidence: { messageId: 'm', quote: `lives in ${value}` } },
    ...more.candidate,
  },
});

const episode = (id: string, more: Partial<Episode> = {}): Episode => ({
  ...{ id, threadId: 't', task: `task ${id}`, outcome: 'succeeded', result: 'done' },
  steps: [{ tool: 'search', args: '{}', ok: true }],
  ...{ recordedAt: at(1), expiresAt: at(300), maskVersion: 1 },
  ...more,
});

const batchOf = (accepted: readonly Accepted[], more: Partial<MemoryBatch> = {}): MemoryBatch => ({
  ...{ key: randomUUID(), threadId: 'thread-1', episodes: [], refused: {}, now: at(1) },
  accepted,
  ...more,
});

describe.each(backends)('long-term memory on %s', (kind) => {
  const database = databaseInTests(kind);
  let memory: (typeof database)['storage']['memory'];
  beforeAll(() => {
    memory = database.storage.memory;
  });

  test('M11 M15 a new value ends the old one; both stay, each with its times', async () => {
    const owner = owned();
    await memory.remember(owner, batchOf([lives('Busan')]));
    const written = await memory.remember(owner, batchOf([lives('Seoul')], { now: at(9) }));
    expect(written).toEqual({ added: 1, superseded: 1, episodes: 0 });
    expect(await memory.facts(owner, { now: at(9) })).toMatchObject([
      { value: 'Seoul', validFrom: at(9), retiredAt: null },
    ]);
    const [old, heir] = await memory.facts(owner, { now: at(9), history: true });
    expect(old).toMatchObject({ value: 'Busan', validTo: at(9), retiredAt: at(9) });
    expect(old?.supersededBy).toBe(heir?.id);
    expect(heir?.evidence).toEqual({
      threadId: 'thread-1',
      messageId: 'm',
      quote: 'lives in Seoul',
    });
  });

  test('M15 within one batch, too, the last value stands', async () => {
    const owner = owned();
    const batch = batchOf([lives('Busan'), lives('Seoul'), lives('Daegu')]);
    expect(await memory.remember(owner, batch)).toMatchObject({ added: 3, superseded: 2 });
    expect((await memory.facts(owner, { now: at(2) })).map((f) => f.value)).toEqual(['Daegu']);
  });

  test('M15 a batch is written once; who asks again hears what it wrote', async () => {
    const owner = owned();
    const batch = batchOf([lives('Busan')], { episodes: [episode('e1'), episode('e2')] });
    const written = { added: 1, superseded: 0, episodes: 2 };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => memory.remember(owner, batch)),
    );
    expect(answers).toEqual(Array.from({ length: 8 }, () => written));
    expect(await memory.facts(owner, { now: at(2), history: true })).toHaveLength(1);
    expect(await memory.episodes(owner, { now: at(2) })).toHaveLength(2);
  });

  test('M15 writers at the same time never leave two values that supersede each other', async () => {
    const owner = owned();
    const cities = Array.from({ length: 12 }, (_, i) => `City ${i}`);
    const written = await Promise.all(
      cities.map((city) => memory.remember(owner, batchOf([lives(city)]))),
    );
    const all = await memory.facts(owner, { now: at(2), history: true });
    expect(all).toHaveLength(cities.length);
    expect(all.filter((f) => f.retiredAt === null)).toHaveLength(1);
    expect(written.reduce((sum, w) => sum + w.superseded, 0)).toBe(cities.length - 1);
    // Each names the one that came after it.
    expect(all.slice(0, -1).map((f) => f.supersededBy)).toEqual(all.slice(1).map((f) => f.id));
  });

  test('M15 nobody sees the memory of a user whose id begins alike, or of another tenant', async () => {
    const owners = ['1', '10', '1x', '1%', '1_', "1'", '1:a'].map((id) => owned(id));
    for (const owner of [...owners, { tenant: 'other', userId: '1' }])
      await memory.remember(owner, batchOf([lives(`${owner.tenant} ${owner.userId}`)]));
    for (const owner of owners) {
      const facts = await memory.facts(owner, { now: at(2) });
      expect(facts.map((f) => f.value)).toEqual([`default ${owner.userId}`]);
    }
    expect(await memory.erase(owned('1'))).toEqual({ facts: 1, episodes: 0, keys: 1 });
    expect(await memory.facts(owned('10'), { now: at(2) })).toHaveLength(1);
    expect(await memory.facts({ tenant: 'other', userId: '1' }, { now: at(2) })).toHaveLength(1);
  });

  test('M15 what has expired is not given; expired episodes go with the next batch', async () => {
    const owner = owned();
    const claim = lives('Busan', { standing: 'claimed', source: 'user' });
    const episodes = [episode('old', { expiresAt: at(2) }), episode('new'), episode('newer')];
    await memory.remember(owner, batchOf([claim], { episodes }));
    expect(await memory.facts(owner, { now: at(30) })).toHaveLength(1);
    expect(await memory.facts(owner, { now: at(32) })).toEqual([]);
    expect(await memory.facts(owner, { now: at(32), history: true })).toHaveLength(1);
    const left = await memory.episodes(owner, { now: at(3) });
    expect(left).toEqual([episode('newer'), episode('new')]);
    await memory.remember(owner, batchOf([], { now: at(3) }));
    expect(await memory.episodes(owner, { now: at(1) })).toEqual(left);
  });

  test('M15 a user withdraws a fact of his own, once', async () => {
    const [owner, other] = [owned(), owned()];
    await memory.remember(owner, batchOf([lives('Busan')]));
    const [fact] = await memory.facts(owner, { now: at(2) });
    expect(await memory.withdraw(other, fact!.id, at(3))).toBe(false);
    expect(await memory.withdraw(owner, fact!.id, at(3))).toBe(true);
    expect(await memory.withdraw(owner, fact!.id, at(4))).toBe(false);
    expect(await memory.facts(owner, { now: at(3) })).toEqual([]);
    expect(await memory.facts(owner, { now: at(3), history: true })).toMatchObject([
      { id: fact!.id, validTo: at(3), retiredAt: at(3), supersededBy: null },
    ]);
  });

  test('M15 vectors are of one model, of standing facts, and go with them', async () => {
    const owner = owned();
    await memory.remember(owner, batchOf([lives('Busan')]));
    const [fact] = await memory.facts(owner, { now: at(2) });
    const vector = Float32Array.of(0.25, -1, 3);
    await memory.putVectors(
      owner,
      'a',
      new Map([
        [fact!.id, vector],
        ['no fact', vector],
      ]),
    );
    expect(await memory.vectors(owner, 'a')).toEqual(new Map([[fact!.id, vector]]));
    expect(await memory.vectors(owner, 'b')).toEqual(new Map());
    const other = Float32Array.of(1, 2);
    await memory.putVectors(owner, 'b', new Map([[fact!.id, other]]));
    expect(await memory.vectors(owner, 'a')).toEqual(new Map());
    expect(await memory.vectors(owner, 'b')).toEqual(new Map([[fact!.id, other]]));
    await memory.erase(owner);
    await memory.putVectors(owner, 'b', new Map([[fact!.id, other]]));
    expect(await memory.vectors(owner, 'b')).toEqual(new Map());
  });

  test('M15 a writer that waits for an erasure writes after it, and a torn batch leaves nothing', async () => {
    const owner = owned();
    await memory.remember(owner, batchOf([lives('Busan')]));
    const [erased] = await Promise.all([
      memory.erase(owner),
      memory.remember(owner, batchOf([lives('Seoul')])),
    ]);
    const left = await memory.facts(owner, { now: at(2), history: true });
    expect(erased.facts + left.length).toBe(2);
    const torn = batchOf([lives('Daegu'), { ...lives('x'), candidate: undefined as never }]);
    await expect(memory.remember(owner, torn)).rejects.toThrow();
    expect(await memory.facts(owner, { now: at(2), history: true })).toEqual(left);
  });
});

describe.each(durable)('an erased user on %s', (kind) => {
  test('O5 M15 is in no table and in no file, and others are', async () => {
    const database = await openDatabase(kind);
    const { storage, target } = database;
    const planted = 'Xanadu-7734';
    const forms = disguises(planted);
    const owner = owned(`id-${planted}`);
    const batch = batchOf([lives(planted)], {
      ...{ key: `thread-${planted}:1`, threadId: `thread-${planted}` },
      episodes: [episode(`e-${planted}`, { task: planted })],
    });
    await storage.memory.remember(owner, batch);
    await storage.memory.remember(owner, batchOf([lives('Busan')]));
    await storage.memory.remember(owned('other'), batchOf([lives('Seoul')]));
    const [fact] = await storage.memory.facts(owner, { now: at(2), history: true });
    await storage.memory.putVectors(owner, 'm', new Map([[fact!.id, Float32Array.of(1)]]));
    expect((await findInDatabase(target, forms)).length).toBeGreaterThanOrEqual(8);
    expect(await storage.memory.erase(owner)).toEqual({ facts: 2, episodes: 1, keys: 2 });
    expect(await findInDatabase(target, forms)).toEqual([]);
    expect(await findInFiles(target, forms)).toEqual([]);
    expect(await storage.memory.facts(owned('other'), { now: at(2) })).toHaveLength(1);
    await database.close();
  });

  test('O1 a check finds memory that has lost its owner', async () => {
    const database = await openDriver(kind);
    if (database.target.kind === 'memory') throw new Error('not durable');
    const owner = owned();
    await database.storage.memory.remember(
      owner,
      batchOf([lives('Busan')], { episodes: [episode('e')] }),
    );
    const checked = async () => {
      const store = await openOperatorStore(database.target as never, 'check');
      try {
        return (await store.checkStore()).map(({ code, what }) => [code, what]);
      } finally {
        await store.close();
      }
    };
    expect(await checked()).toEqual([]);
    await database.driver.write(() => run('DELETE FROM et_memory_owners'));
    expect(await checked()).toEqual([
      ['memory_without_owner', expect.stringContaining('et_facts holds 1 row')],
      ['memory_without_owner', expect.stringContaining('et_episodes holds 1 row')],
      ['memory_without_owner', expect.stringContaining('et_memory_keys holds 1 row')],
    ]);
    await database.close();
  });
});

test('O3 O4 a restored backup holds the memory of its time', async () => {
  const { storage, target, close } = await openDatabase('sqlite');
  if (target.kind !== 'sqlite') throw new Error('no file');
  const owner = owned();
  const file = `${target.path}.backup`;
  await storage.memory.remember(owner, batchOf([lives('Busan')], { episodes: [episode('e')] }));
  await backupStore(target.path, file);
  await storage.memory.erase(owner);
  await storage.close();
  await restoreFile(target.path, file);
  const after = await openStorage(target, { autoMigrate: false });
  expect(await after.memory.facts(owner, { now: at(2) })).toHaveLength(1);
  expect(await after.memory.episodes(owner, { now: at(2) })).toEqual([episode('e')]);
  await after.close();
  await rm(file);
  await close();
});
