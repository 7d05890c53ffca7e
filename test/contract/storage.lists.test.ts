import { describe, expect, test } from '@jest/globals';
import type { ListThreads, ThreadRecord } from '../../storage/port.js';
import { query, type Driver } from '../../storage/tx.js';
import { backends } from '../support/database.js';
import { databaseInTests } from '../support/database-in-tests.js';
import { Scenario } from '../support/storage-scenario.js';

describe.each(backends)('lists of threads on %s', (kind) => {
  const database = databaseInTests(kind);

  const walk = async (asked: Omit<ListThreads, 'after' | 'limit'>, limit: number) => {
    const all: ThreadRecord[] = [];
    for (let after: ListThreads['after'] = null; ;) {
      const page = await database.storage.threads.list({ ...asked, after, limit });
      expect(page.threads.length).toBeLessThanOrEqual(limit);
      all.push(...page.threads);
      if (page.next === null) return all;
      after = page.next;
    }
  };
  const ids = (threads: readonly ThreadRecord[]) => threads.map(({ thread }) => thread.threadId);

  test('A8 a walk gives every living thread of the tenant once, newest first, whatever the page', async () => {
    const tenant = 'walked';
    const names = ['a', 'b', 'c', 'd', 'e'];
    for (const threadId of names)
      await database.storage.threads.create({ thread: { tenant, threadId } });
    await database.storage.threads.create({ thread: { tenant: 'other', threadId: 'a' } });
    await database.storage.threads.delete({ tenant, threadId: 'c' });
    const whole = await walk({ tenant }, 200);
    expect(ids(whole).toSorted()).toEqual(['a', 'b', 'd', 'e']);
    const times = whole.map(({ createdAtMs }) => createdAtMs);
    expect(times).toEqual(times.toSorted((a, b) => b - a));
    expect(await walk({ tenant }, 1)).toEqual(whole);
    expect(await walk({ tenant }, 4)).toEqual(whole);
    expect(await walk({ tenant: 'nobody' }, 10)).toEqual([]);
  });

  test('A8 status and graph filter as the thread itself says them, and a busy one names its turn', async () => {
    const tenant = 'filtered';
    const at = (threadId: string) => new Scenario(database.storage, { tenant, threadId });
    const [idle, asking, waiting, running] = [at('idle'), at('asks'), at('waits'), at('runs')];
    await idle.committed({ graph: 'tools' });
    await asking.committed({}, { kind: 'interrupted', interrupts: [{ id: 'i', value: 1 }] });
    await waiting.committed({ graph: 'tools' });
    const next = await waiting.turn();
    await waiting.turn();
    const turn = await running.turn();
    await running.claimed();
    await running.claimed({ attempt: 2 });
    const list = async (filter: Partial<ListThreads>) => await walk({ tenant, ...filter }, 2);
    expect(ids(await list({ status: 'idle' }))).toEqual(['idle']);
    expect(ids(await list({ status: 'interrupted' }))).toEqual(['asks']);
    expect(ids(await list({ status: 'busy' })).toSorted()).toEqual(['runs', 'waits']);
    expect(ids(await list({ graph: 'tools' })).toSorted()).toEqual(['idle', 'waits']);
    expect(ids(await list({ graph: 'tools', status: 'busy' }))).toEqual(['waits']);
    for (const thread of await list({})) {
      expect(thread).toEqual(await database.storage.threads.get(thread.thread));
    }
    expect((await idle.record()).open).toBeNull();
    expect((await waiting.record()).open).toMatchObject({
      ...{ turnId: next.turnId, seq: 2, status: 'pending', attempts: 0 },
    });
    expect((await running.record()).open).toMatchObject({
      ...{ turnId: turn.turnId, seq: 1, status: 'running', attempts: 2 },
    });
    expect(await database.storage.turns.countOpen()).toMatchObject([
      { graph: 'agent', status: 'running', count: 1 },
      { graph: 'tools', status: 'pending', count: 2 },
    ]);
  });

  test('A8 a page of many threads reads an index and sorts nothing', async () => {
    if (kind === 'postgres') await manyThreads(database.driver);
    for (const filter of ['', `AND head_status = 'interrupted'`, `AND graph = 'tools'`]) {
      const plan = await planOf(
        database.driver,
        `SELECT thread_id FROM et_threads WHERE tenant = 'walked' AND deleted = 0 ${filter}
         AND (created_at_ms, thread_id) < (9999999999999, 'x') ORDER BY created_at_ms DESC, thread_id DESC LIMIT 50`,
      );
      expect(plan).toMatch(/et_threads_(listed|of_graph|waiting)/);
      expect(plan).not.toMatch(/Sort|TEMP B-TREE/);
    }
  });
});

/** Statistics of a small table would prefer a scan, rightly. */
async function manyThreads(driver: Driver): Promise<void> {
  await driver.write(() =>
    query(
      `INSERT INTO et_threads (tenant, thread_id, epoch, deleted, version, next_seq, settled_seq, graph, metadata,
         swept_at_ms, created_at_ms, updated_at_ms, head_status)
       SELECT 'walked', 'n' || n, 1, 0, 1, 2, 1, CASE n % 50 WHEN 0 THEN 'tools' ELSE 'agent' END, '{}', 0, n, n,
         CASE n % 50 WHEN 1 THEN 'interrupted' ELSE 'committed' END
       FROM generate_series(1, 20000) AS n`,
    ),
  );
  await driver.write(() => query('ANALYZE et_threads'));
}

async function planOf(driver: Driver, sql: string): Promise<string> {
  const explain = driver.dialect === 'sqlite' ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN';
  return JSON.stringify(await driver.read(() => query(`${explain} ${sql}`)));
}
