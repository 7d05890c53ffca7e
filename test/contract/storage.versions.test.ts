import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { query, type Answer, type Driver, type Tx } from '../../storage/tx.js';
import { turnOfVersion, type Later, type VersionRow } from '../../storage/version-row.js';
import { durable, openDriver } from '../support/database.js';
import { Scenario } from '../support/storage-scenario.js';

type Database = Awaited<ReturnType<typeof openDriver>>;

/** 5,000 turns that each left a version. */
const longThread = `INSERT INTO et_turns (tenant, thread_id, epoch, seq, turn_id, status, graph, stream, fence, released,
    step, has_rows, has_draft, tries, losses, spent_ms, alive_at_ms, accepted_at_ms, settled_at_ms, input, response, version)
  WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
  SELECT 'default', 'long', 1, i, 'long-' || i, 'committed', 'agent', 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, '{}', '', i FROM n`;

describe.each(durable)('an earlier version, on %s', (kind) => {
  let database: Database;
  beforeAll(async () => {
    database = await openDriver(kind);
  });
  afterAll(() => database.close());

  const failing = { kind: 'failed', failure: { code: 'node_error', message: 'x' } } as const;

  /** A second life of a thread in which every third turn has left no version. */
  async function secondLife(turns: number) {
    const { storage, driver } = database;
    const s = new Scenario(storage);
    for (let n = 0; n < 5; n++) await s.committed();
    await storage.threads.delete(s.thread);
    const seqs: number[] = [];
    for (let n = 1; n <= turns; n++) {
      if (n % 3 === 0) {
        await s.turn();
        await storage.claims.settle((await s.claimed()).claim, failing, null);
      } else seqs.push((await s.committed()).seq);
    }
    const later = await driver.read(() => head(s));
    return { s, seqs, later };
  }

  function* head({ thread }: Scenario): Tx<Later> {
    const rows = yield* query<Later>(
      'SELECT epoch, version, head_seq FROM et_threads WHERE tenant = $1 AND thread_id = $2',
      ...[thread.tenant, thread.threadId],
    );
    return rows[0]!;
  }

  const found = (driver: Driver, s: Scenario, later: Later, version: number) =>
    driver.read((): Tx<VersionRow | undefined> => turnOfVersion(s.thread, later, version));

  test('F7 each version of the epoch is found, whatever turns left none; others are not', async () => {
    const { s, seqs, later } = await secondLife(20);
    expect(later).toMatchObject({ epoch: 2, version: seqs.length });
    for (const [i, seq] of seqs.entries()) {
      expect(await found(database.driver, s, later, i + 1)).toMatchObject({ seq });
      const own = { ...later, version: i + 1, head_seq: seq };
      expect(await found(database.driver, s, own, i + 1)).toMatchObject({ seq });
    }
    for (const version of [0, seqs.length + 1]) {
      expect(await found(database.driver, s, later, version)).toBeUndefined();
    }
  });

  test('F7 it is found by the key, going back: what a thread holds besides is not read', async () => {
    const thread = { tenant: 'default', threadId: 'long' };
    await database.driver.write(function* (): Tx<void> {
      yield* query(longThread);
      yield* query('ANALYZE');
    });
    const later = { epoch: 1, version: 5_000, head_seq: 5_000 };
    const statement = turnOfVersion(thread, later, 10).next().value;
    if (statement === undefined || !('sql' in statement)) throw new Error('no statement');
    const explain =
      kind === 'sqlite' ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF)';
    const plan = await database.driver.read(function* (): Tx<Answer['rows']> {
      return yield* query(`${explain} ${statement.sql}`, ...statement.params);
    });
    const text = JSON.stringify(plan);
    if (kind === 'sqlite') {
      expect(text).toContain('(tenant=? AND thread_id=? AND epoch=? AND seq<?)');
      expect(text).not.toContain('TEMP B-TREE');
    } else {
      const missed = /Rows Removed by Filter: (\d+)/.exec(text)?.[1] ?? '0';
      expect(text).toContain('Index Scan Backward');
      expect(Number(missed)).toBe(0);
    }
  });
});
