/** Backend equivalence: the same calls give the same answers on all three, and the invariants of DESIGN 6 hold after each. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createHash, randomUUID } from 'node:crypto';
import type { AcceptTurn, Claim, TurnRecord } from '../../storage/port.js';
import { backends, openDatabase, type TestDatabase } from '../support/database.js';
import { reply, rowsAt, Scenario, stepAt } from '../support/storage-scenario.js';

const databases: TestDatabase[] = [];
beforeAll(async () => {
  for (const kind of backends) databases.push(await openDatabase(kind));
});
afterAll(async () => {
  for (const database of databases) await database.close();
});

type ClaimCall =
  'flush' | 'step' | 'commit' | 'interrupt' | 'fail' | 'failTry' | 'yield' | 'lookUp';

/** A call: `pick` chooses among the turns or claims made so far. */
const call = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      op: fc.constant('accept' as const),
      key: fc.constantFrom('', '', 'a', 'b'),
      digest: fc.constantFrom('v1:x', 'v1:x', 'v1:y'),
      multitask: fc.constantFrom<AcceptTurn['multitask']>(
        'enqueue',
        'enqueue',
        'reject',
        'interrupt',
        'rollback',
      ),
      resume: fc.boolean(),
      ifVersion: fc.constantFrom(-1, -1, -1, 0, 1, 2),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constant('claim' as const),
      runId: fc.constantFrom('r1', 'r2'),
      activityId: fc.integer({ min: 1, max: 4 }),
      attempt: fc.integer({ min: 1, max: 2 }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      op: fc.constant('claimed' as const),
      how: fc.constantFrom<ClaimCall>(
        ...(['flush', 'step', 'commit', 'commit', 'interrupt'] as const),
        ...(['fail', 'failTry', 'yield', 'lookUp'] as const),
      ),
      pick: fc.nat({ max: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constantFrom('cancel' as const, 'listen' as const),
      pick: fc.nat(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ op: fc.constantFrom('delete' as const, 'create' as const) }),
  },
);
type Call = typeof call extends fc.Arbitrary<infer T> ? T : never;

const failure = { code: 'node_error', message: 'broke' } as const;

/** One thread on one backend. Turn ids come from a count, so that answers can be compared. */
class Run {
  readonly s: Scenario;
  readonly turns: string[] = [];
  readonly claims: Claim[] = [];
  private pos = 0;

  constructor({ storage }: TestDatabase, threadId: string) {
    this.s = new Scenario(storage, { threadId });
  }

  private id(): string {
    const made = createHash('sha256')
      .update(`${this.s.thread.threadId}/${this.turns.length}`)
      .digest('hex');
    this.turns.push(made);
    return made;
  }

  async do(c: Call): Promise<unknown> {
    const { storage, thread } = this.s;
    switch (c.op) {
      case 'accept':
        return await this.s.accept({
          turnId: this.id(),
          digest: c.digest,
          multitask: c.multitask,
          maxPending: 3,
          ...(c.resume && { input: { kind: 'resume', value: 'yes' } }),
          ...(c.key !== '' && { key: c.key }),
          ...(c.ifVersion >= 0 && { ifVersion: c.ifVersion }),
        });
      case 'claim': {
        const { op: _op, ...holder } = c;
        const claimed = await this.s.claim(holder, { maxLosses: 4 });
        if (claimed.kind === 'claimed') this.claims.push(claimed.turn.claim);
        return claimed;
      }
      case 'cancel':
        return await storage.turns.cancel(
          thread,
          this.turns[c.pick % (this.turns.length || 1)] ?? 'none',
        );
      case 'listen':
        await storage.turns.listen(thread, this.turns[c.pick % (this.turns.length || 1)] ?? 'none');
        return null;
      case 'delete':
        return await storage.threads.delete(thread);
      case 'create':
        return await storage.threads.create({ thread });
      case 'claimed': {
        const claim = this.claims.at(-1 - (c.pick % (this.claims.length || 1)));
        return claim === undefined ? null : await this.underClaim(c.how, claim);
      }
    }
  }

  private async underClaim(how: ClaimCall, claim: Claim): Promise<unknown> {
    const { claims } = this.s.storage;
    const pos = ++this.pos;
    switch (how) {
      case 'flush':
        return await claims.flush(claim, rowsAt(pos));
      case 'step':
        return await claims.flush(claim, stepAt(pos, pos));
      case 'interrupt':
      case 'commit': {
        const kind = how === 'commit' ? 'committed' : 'interrupted';
        return await claims.settle(
          claim,
          reply(claim, { kind, interrupts: [{ id: 'i', value: 1 }] }),
          rowsAt(pos),
        );
      }
      case 'fail':
        return await claims.settle(claim, { kind: 'failed', failure }, null);
      case 'failTry':
        return await claims.failTry(claim, failure, 2);
      case 'yield':
        return await claims.yield(claim);
      case 'lookUp':
        return await claims.lookUp(claim);
    }
  }

  /** All that readers can see. */
  async seen() {
    const { storage, thread } = this.s;
    const turns = await Promise.all(this.turns.map((id) => storage.turns.get(thread, id)));
    return {
      thread: await storage.threads.get(thread),
      messages: await storage.threads.messages(thread, null, 200),
      history: await storage.threads.history(thread, null, 200),
      peek: [...(await storage.turns.peek(this.turns))].sort(([a], [b]) => (a < b ? -1 : 1)),
      turns: turns.filter((turn) => turn !== undefined),
    };
  }
}

/** Times differ between databases; everything else may not. */
const timeless = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value ?? null, (name, member: unknown) => {
      if (name === 'leftMs' || name === 'waitedMs') return undefined;
      return name.endsWith('AtMs') && typeof member === 'number' ? 'a time' : member;
    }),
  );

const settled = ({ status }: TurnRecord): boolean => status !== 'pending' && status !== 'running';

/** DESIGN 6: one list, dense versions, settled is final, at most one turn runs, and it is the earliest. */
function checkInvariants(
  seen: Awaited<ReturnType<Run['seen']>>,
  before: readonly TurnRecord[],
): void {
  const epoch = seen.thread?.epoch ?? 0;
  const living = seen.turns.filter((t) => t.epoch === epoch).sort((a, b) => a.seq - b.seq);
  const versions = living.flatMap(({ version }) => (version === null ? [] : [version]));
  expect(versions).toEqual(versions.map((_, i) => i + 1));
  if (seen.thread !== undefined) expect(seen.thread.version).toBe(versions.length);
  const open = living.filter((t) => !settled(t));
  expect(open.slice(1).filter(({ status }) => status === 'running')).toEqual([]);
  expect(new Set(seen.turns.map(({ seq }) => seq)).size).toBe(seen.turns.length);
  for (const old of before.filter(settled)) {
    const now = seen.turns.find(({ turnId }) => turnId === old.turnId);
    if (now?.status !== 'aborted') expect(now).toEqual(old);
  }
}

const accepted = { op: 'accept', key: '', digest: 'v1:x', resume: false, ifVersion: -1 } as const;
const claim = { op: 'claim', runId: 'r1', activityId: 1, attempt: 1 } as const;

/** A transcript reads the state of a turn that was cut off; chance makes such a turn in one of a thousand runs. */
const cutOffWithState: Call[] = [
  { ...accepted, multitask: 'enqueue' },
  claim,
  { op: 'claimed', how: 'step', pick: 0 },
  { ...accepted, multitask: 'interrupt' },
  claim,
  ...Array.from({ length: 3 }, () => ({ op: 'claimed', how: 'flush', pick: 0 }) as const),
];

test('P1-P9 memory, SQLite and PostgreSQL answer alike, and settled is final', async () => {
  const property = fc.asyncProperty(
    fc.array(call, { minLength: 5, maxLength: 25 }),
    async (calls) => {
      const threadId = `same-${randomUUID()}`;
      const runs = databases.map((database) => new Run(database, threadId));
      let before: readonly TurnRecord[] = [];
      for (const c of calls) {
        const answers = await Promise.all(runs.map((run) => run.do(c)));
        const [memory, ...others] = answers.map(timeless);
        for (const other of others) expect(other).toEqual(memory);
        const seen = await runs[0]!.seen();
        checkInvariants(seen, before);
        before = seen.turns;
      }
      const [memory, ...others] = (await Promise.all(runs.map((run) => run.seen()))).map(timeless);
      for (const other of others) expect(other).toEqual(memory);
    },
  );
  await fc.assert(property, { numRuns: 60, examples: [[cutOffWithState]] });
});
