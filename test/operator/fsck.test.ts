import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { FindingCode } from '../../storage/fsck/finding.js';
import { openOperatorStore, type DurableTarget } from '../../storage/operator-store.js';
import { run } from '../../storage/tx.js';
import { walkStore, type Walked } from '../../cli/fsck-walk.js';
import { durable, openDriver } from '../support/database.js';
import { Scenario } from '../support/storage-scenario.js';
import { committedState, rowsOf } from './scenario-state.js';

type Database = Awaited<ReturnType<typeof openDriver>>;

describe.each(durable)('everthread fsck on %s', (kind) => {
  let database: Database;
  beforeAll(async () => {
    database = await openDriver(kind);
  });
  afterAll(() => database.close());

  const target = (): DurableTarget => database.target as DurableTarget;
  const sql = (text: string, ...values: (string | number | null)[]): Promise<number> =>
    database.driver.write(() => run(text, ...values));
  const check = (repair = false): Promise<Walked> => walk(target(), repair);

  /** Two committed turns, a failed one and a deleted, revived thread: nothing wrong anywhere. */
  async function healthy(): Promise<Scenario> {
    const s = new Scenario(database.storage);
    await committedState(s, 'one');
    await s.storage.threads.delete(s.thread);
    await committedState(s, 'two', { key: 'k' });
    await committedState(s, 'three');
    await s.turn();
    const { claim, baseVersion } = await s.claimed();
    await s.storage.claims.flush(claim, rowsOf(claim.seq, baseVersion, 'four'));
    await s.storage.claims.settle(
      claim,
      { kind: 'failed', failure: { code: 'node_error', message: 'no' } },
      null,
    );
    return s;
  }

  test('O1 a store that followed the protocol shows nothing', async () => {
    const s = await healthy();
    await s.turn();
    const { claim, baseVersion } = await s.claimed();
    await s.storage.claims.flush(claim, rowsOf(claim.seq, baseVersion, 'five'));
    expect((await check()).findings).toEqual([]);
  });

  const place = 'tenant = $1 AND thread_id = $2';
  const damages: readonly (readonly [FindingCode, string, readonly FindingCode[]])[] = [
    ['next_seq_low', `UPDATE et_threads SET next_seq = 2 WHERE ${place}`, []],
    ['settled_seq_wrong', `UPDATE et_threads SET settled_seq = 1 WHERE ${place}`, []],
    ['head_wrong', `UPDATE et_threads SET head_checkpoint = 'gone' WHERE ${place}`, []],
    ['run_not_recorded', `DELETE FROM et_runs WHERE ${place}`, []],
    [
      'run_left_over',
      `INSERT INTO et_runs (tenant, thread_id, epoch, run_id, seen_at_ms) VALUES ($1, $2, 1, 'left', 0)`,
      [],
    ],
    ['dead_turn_content', `UPDATE et_turns SET response = 'x' WHERE ${place} AND epoch = 1`, []],
    [
      'dead_turn_open',
      `UPDATE et_turns SET status = 'running', settled_at_ms = NULL WHERE ${place} AND epoch = 1`,
      [],
    ],
    ['key_astray', `UPDATE et_keys SET seq = 99 WHERE ${place}`, []],
    ['rows_left_over', `UPDATE et_writes SET epoch = 1 WHERE ${place}`, []],
    [
      'draft_left_over',
      `INSERT INTO et_drafts (tenant, thread_id, epoch, seq, fence, step, frame_seq, text) VALUES ($1, $2, 2, 2, 1, 0, 1, 'x')`,
      [],
    ],
    [
      'versions_not_dense',
      `UPDATE et_threads SET version = 7 WHERE ${place}`,
      ['versions_not_dense'],
    ],
    [
      'turn_incomplete',
      `UPDATE et_turns SET messages = NULL WHERE ${place} AND seq = 2`,
      ['turn_incomplete'],
    ],
    [
      'turn_status_torn',
      `UPDATE et_turns SET settled_at_ms = NULL WHERE ${place} AND seq = 2`,
      ['turn_status_torn'],
    ],
    [
      'turn_of_unborn_epoch',
      `UPDATE et_turns SET epoch = 9 WHERE ${place} AND status = 'failed'`,
      ['turn_of_unborn_epoch'],
    ],
    ['state_broken', `DELETE FROM et_deltas WHERE ${place} AND seq = 2`, ['state_broken']],
    ['state_broken', `UPDATE et_deltas SET seq = 9 WHERE ${place} AND seq = 2`, ['state_broken']],
    [
      'state_broken',
      `UPDATE et_deltas SET length = 0 WHERE ${place} AND base IS NULL`,
      ['state_broken'],
    ],
  ];

  test.each(damages)(
    'O2 %s is found, and repaired or left as it is',
    async (code, damage, left) => {
      const s = await healthy();
      await sql(damage, s.thread.tenant, s.thread.threadId);
      const found = (await check()).findings.filter(({ thread }) => sameThread(thread, s));
      expect(found.map((finding) => finding.code)).toContain(code);
      const after = (await check(true)).findings.filter(({ thread }) => sameThread(thread, s));
      expect(codes(after)).toEqual(left);
      const again = (await check(true)).findings.filter(({ thread }) => sameThread(thread, s));
      expect(codes(again)).toEqual(left);
      await forget(s);
    },
  );

  test('O2 a deleted thread that still names a head is emptied', async () => {
    const s = await healthy();
    await s.storage.threads.delete(s.thread);
    await sql(
      `UPDATE et_threads SET head_seq = 3 WHERE ${place}`,
      s.thread.tenant,
      s.thread.threadId,
    );
    expect((await check()).findings).toMatchObject([{ code: 'tombstone_not_empty' }]);
    await forget(s);
  });

  test('O1 rows without a thread are found', async () => {
    const s = await healthy();
    await sql(`DELETE FROM et_threads WHERE ${place}`, s.thread.tenant, s.thread.threadId);
    expect(codes((await check()).findings)).toEqual(['rows_without_thread']);
    await forget(s);
  });

  /** Takes the damaged thread away, so that the next test begins with a whole store. */
  async function forget(s: Scenario): Promise<void> {
    const tables = [
      'threads',
      'turns',
      'keys',
      'runs',
      'drafts',
      'checkpoints',
      'deltas',
      'writes',
    ];
    for (const table of tables) {
      await sql(`DELETE FROM et_${table} WHERE ${place}`, s.thread.tenant, s.thread.threadId);
    }
  }
});

const sameThread = (thread: { readonly threadId: string } | null, s: Scenario): boolean =>
  thread?.threadId === s.thread.threadId;

const codes = (findings: Walked['findings']): readonly FindingCode[] => [
  ...new Set(findings.filter(({ severity }) => severity === 'error').map(({ code }) => code)),
];

async function walk(target: DurableTarget, repair: boolean): Promise<Walked> {
  const store = await openOperatorStore(target, repair ? 'repair' : 'check');
  try {
    return await walkStore({ store, repair });
  } finally {
    await store.close();
  }
}
