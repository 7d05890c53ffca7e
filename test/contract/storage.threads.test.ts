import { describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { FlushRows } from '../../storage/saver/port.js';
import { backends } from '../support/database.js';
import { databaseInTests } from '../support/database-in-tests.js';
import { rowsAt, Scenario, stepAt } from '../support/storage-scenario.js';

describe.each(backends)('threads and turns on %s', (kind) => {
  const database = databaseInTests(kind);

  test('P1 the store id is random and fits a workflow id', () => {
    expect(database.storage.store).toMatch(/^[a-z0-9]{8}$/);
    expect(database.storage.kind).toBe(kind);
  });

  test('a created thread is there, once, with its metadata', async () => {
    const s = new Scenario(database.storage);
    const input = { thread: s.thread, graph: 'tools', metadataJson: '{"b": 1, "a": [2]}' };
    const { kind: created, thread } = await database.storage.threads.create(input);
    expect(created).toBe('created');
    expect(thread).toMatchObject({
      ...{ thread: s.thread, epoch: 1, version: 0, graph: 'tools', status: 'idle' },
      ...{ metadataJson: '{"a":[2],"b":1}', interruptsJson: null, headCheckpoint: null },
    });
    expect(await database.storage.threads.create({ thread: s.thread, graph: 'other' })).toEqual({
      kind: 'exists',
      thread,
    });
    expect(await s.turn()).toMatchObject({ seq: 1, graph: 'tools' });
  });

  test('a committed turn keeps its reply, repaired and canonical', async () => {
    const s = new Scenario(database.storage);
    const turn = await s.committed(
      {},
      {
        response: 'nul \u0000 and half \ud800 a pair',
        messages: [{ role: 'assistant', id: 'a', content: '\udc00' }],
        valuesJson: '{"z": {"d": 1, "c": "x\\u0000"}, "a": [1, 2]}',
        usage: { output_tokens: 2, input_tokens: 1, total_tokens: 3 },
      },
    );
    expect(turn).toMatchObject({
      status: 'committed',
      ...{ baseVersion: 0, version: 1, response: 'nul \ufffd and half \ufffd a pair' },
      messagesJson: '[{"content":"\ufffd","id":"a","role":"assistant"}]',
      valuesJson: '{"a":[1,2],"z":{"c":"x\ufffd","d":1}}',
      usageJson: '{"input_tokens":1,"output_tokens":2,"total_tokens":3}',
      interruptsJson: null,
    });
    expect(turn.settledAtMs).toBeGreaterThanOrEqual(turn.acceptedAtMs);
  });

  test('DESIGN 5 an interrupted turn advances the head and shows what it asks', async () => {
    const s = new Scenario(database.storage);
    const interrupts = [{ id: 'i', value: { ask: 'name' } }];
    const turn = await s.committed({}, { kind: 'interrupted', interrupts, next: ['ask'] });
    const interruptsJson = '[{"id":"i","value":{"ask":"name"}}]';
    expect(turn).toMatchObject({ status: 'interrupted', version: 1, interruptsJson });
    expect(await s.record()).toMatchObject({
      ...{ status: 'interrupted', version: 1, interruptsJson, nextJson: '["ask"]' },
      headCheckpoint: 'checkpoint-1',
    });
  });

  test('C1 C5 versions are dense: failed and cancelled turns leave the head', async () => {
    const s = new Scenario(database.storage);
    await s.committed();
    const failed = await s.turn();
    const { claim } = await s.claimed();
    await database.storage.claims.flush(claim, stepAt(3, 1));
    const failure = { code: 'node_error', message: 'broke \u0000' } as const;
    expect(
      await database.storage.claims.settle(claim, { kind: 'failed', failure }, null),
    ).toMatchObject({
      kind: 'settled',
      status: 'failed',
      version: 1,
    });
    expect(await s.get(failed.turnId)).toMatchObject({
      failure: { code: 'node_error', message: 'broke \ufffd' },
    });
    const cancelled = await s.turn();
    expect(await database.storage.turns.cancel(s.thread, cancelled.turnId)).toMatchObject({
      kind: 'cancelled',
      turn: { status: 'cancelled', fence: 1 },
    });
    expect(await s.committed()).toMatchObject({ version: 2, baseVersion: 1, seq: 4 });
    expect(await database.storage.threads.history(s.thread, null, 10)).toMatchObject([
      { version: 2, seq: 4, status: 'committed', checkpointId: 'checkpoint-4' },
      { version: 1, seq: 1, status: 'committed', checkpointId: 'checkpoint-1' },
    ]);
    expect(await database.storage.threads.history(s.thread, 2, 10)).toMatchObject([{ version: 1 }]);
    expect(await database.storage.threads.history(s.thread, null, 1)).toMatchObject([
      { version: 2 },
    ]);
  });

  test('P6 a commit that was first wins over a cancel', async () => {
    const s = new Scenario(database.storage);
    const turn = await s.committed();
    expect(await database.storage.turns.cancel(s.thread, turn.turnId)).toEqual({
      kind: 'already_settled',
      turn,
    });
    expect(await database.storage.turns.cancel(s.thread, randomUUID())).toEqual({
      kind: 'not_found',
    });
    expect(
      await database.storage.turns.cancel(new Scenario(database.storage).thread, turn.turnId),
    ).toEqual({
      kind: 'not_found',
    });
  });

  test('P6 a waiting turn that is cancelled is passed over, and the progress is exact', async () => {
    const s = new Scenario(database.storage);
    await s.turn();
    const second = await s.turn();
    const third = await s.turn();
    await database.storage.turns.cancel(s.thread, second.turnId);
    const first = await s.claimed();
    expect(await s.commit(first.claim)).toMatchObject({
      after: { settledThrough: 2, more: true, deleted: false },
    });
    expect((await s.claimed()).claim.turnId).toBe(third.turnId);
  });

  test('A4 a turn id is found only under its own thread', async () => {
    const s = new Scenario(database.storage);
    const { turnId } = await s.turn();
    const other = new Scenario(database.storage);
    await other.turn();
    expect(await database.storage.turns.get(other.thread, turnId)).toBeUndefined();
    expect(await database.storage.turns.get({ ...s.thread, tenant: 'x' }, turnId)).toBeUndefined();
    await database.storage.turns.listen(other.thread, turnId);
    expect(await s.claimed()).toMatchObject({ stream: false });
  });

  test('many turns are peeked at once; unknown ids are left out', async () => {
    const s = new Scenario(database.storage);
    const ids: string[] = [];
    for (let i = 0; i < 20; i++) ids.push((await s.turn()).turnId);
    const { claim } = await s.claimed();
    await database.storage.claims.flush(claim, stepAt(1, 1));
    const strangers = Array.from({ length: 300 }, () => randomUUID());
    const seen = await database.storage.turns.peek([...strangers, ...ids, ...strangers]);
    expect(seen.size).toBe(20);
    expect(seen.get(claim.turnId)).toMatchObject({ status: 'running', fence: 1, step: 1 });
    expect([...seen.values()].filter(({ status }) => status === 'pending')).toHaveLength(19);
  });

  test('P2 turns accepted at once get one seq each, in one list', async () => {
    const s = new Scenario(database.storage);
    const turns = await Promise.all(Array.from({ length: 20 }, () => s.turn()));
    const seqs = turns.map(({ seq }) => seq).sort((a, b) => a - b);
    expect(seqs).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
  });

  test('the transcript is what committed turns have said, page by page', async () => {
    const s = new Scenario(database.storage);
    const first = await s.committed();
    const failed = await s.turn();
    await database.storage.turns.cancel(s.thread, failed.turnId);
    const second = await s.committed();
    const whole = await database.storage.threads.messages(s.thread, null, 200);
    expect(whole?.messages.map(({ id, seq, turn_id }) => [id, seq, turn_id])).toEqual(
      [first, second].flatMap(({ turnId, seq }) => [
        [turnId, seq, turnId],
        [`ai-${turnId}`, seq, turnId],
      ]),
    );
    expect(whole?.next).toBeNull();
    const paged: string[] = [];
    for (let after = null as { seq: number; index: number } | null; ;) {
      const page = await database.storage.threads.messages(s.thread, after, 3);
      paged.push(...(page?.messages ?? []).map(({ id }) => id));
      if (page?.next == null) break;
      after = page.next;
    }
    expect(paged).toEqual(whole?.messages.map(({ id }) => id));
  });

  test('the transcript of more turns than one statement reads is whole', async () => {
    const s = new Scenario(database.storage);
    for (let i = 0; i < 60; i++) await s.committed();
    const page = await database.storage.threads.messages(s.thread, null, 200);
    expect(page?.messages).toHaveLength(120);
    expect(page?.next).toBeNull();
  });

  test('P6 the transcript has what a turn cut off by `interrupt` has said, as its state does', async () => {
    const s = new Scenario(database.storage);
    const cutOff = async (text: string, base: readonly Said[]) => {
      const { turnId } = await s.turn({ input: { kind: 'message', text } });
      const { claim, baseVersion } = await s.claimed();
      const said = [...base, message('Human', turnId, text), message('AI', `${turnId}-ai`, 'Once')];
      await database.storage.claims.flush(claim, stateOf(baseVersion, said));
      const next = await s.turn({ multitask: 'interrupt' });
      await database.storage.turns.cancel(s.thread, next.turnId);
      return said;
    };
    const first = await cutOff('long story?', []);
    const both = await cutOff('another one?', first);
    const page = await database.storage.threads.messages(s.thread, null, 10);
    expect(page?.messages.map(({ content }) => content)).toEqual(
      both.map(({ kwargs }) => kwargs.content),
    );
    expect(page?.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
    ]);
    const [one] = page?.messages ?? [];
    const next = await database.storage.threads.messages(
      s.thread,
      { seq: one?.seq ?? 0, index: 0 },
      1,
    );
    expect(next?.messages).toMatchObject([{ role: 'assistant', content: 'Once', seq: one?.seq }]);
  });

  test('P6 the question of a turn cut off by `interrupt` stays in the transcript where its state keeps no messages', async () => {
    const s = new Scenario(database.storage);
    const { turnId } = await s.turn({ input: { kind: 'message', text: 'long story?' } });
    const { claim } = await s.claimed();
    await database.storage.claims.flush(claim, stateOf(0, null));
    await s.turn({ multitask: 'interrupt' });
    const page = await database.storage.threads.messages(s.thread, null, 10);
    expect(page?.messages).toEqual([
      { id: turnId, role: 'user', content: 'long story?', turn_id: turnId, seq: 1 },
    ]);
  });

  test('drafts are shown under their fence and go when the turn settles', async () => {
    const s = new Scenario(database.storage);
    const { turnId } = await s.turn();
    const zombie = (await s.claimed()).claim;
    const { claim } = await s.claimed();
    const draft = { thread: s.thread, turn: turnId, step: 0, seq: 4 };
    await database.storage.claims.saveDrafts([
      { claim, draft: { ...draft, fence: claim.fence, text: 'so far \u0000' } },
      { claim: zombie, draft: { ...draft, fence: zombie.fence, text: 'a ghost' } },
    ]);
    expect(await s.get(turnId)).toMatchObject({
      draft: { thread: s.thread, turn: turnId, fence: 2, step: 0, seq: 4, text: 'so far \ufffd' },
    });
    await s.commit(claim, {}, rowsAt(1));
    expect(await s.get(turnId)).toMatchObject({ draft: null, status: 'committed' });
    await database.storage.claims.saveDrafts([
      { claim, draft: { ...draft, fence: claim.fence, text: 'late' } },
    ]);
    expect(await s.get(turnId)).toMatchObject({ draft: null });
    await database.storage.claims.saveDrafts([]);
  });

  test('P4 drafts of many turns are one call; those without the fence are left out', async () => {
    const scenarios = await Promise.all(
      Array.from({ length: 120 }, async () => {
        const s = new Scenario(database.storage);
        await s.turn();
        return { s, claim: (await s.claimed()).claim };
      }),
    );
    await database.storage.claims.saveDrafts(
      scenarios.map(({ s, claim }, i) => ({
        claim: i % 2 === 0 ? claim : { ...claim, fence: claim.fence + 1 },
        draft: {
          ...{ thread: s.thread, turn: claim.turnId, fence: claim.fence },
          ...{ step: 0, seq: i, text: `draft ${i}` },
        },
      })),
    );
    for (const [i, { s, claim }] of scenarios.entries()) {
      const { draft } = await s.get(claim.turnId);
      expect(draft?.text).toBe(i % 2 === 0 ? `draft ${i}` : undefined);
    }
  });
});

type Said = ReturnType<typeof message>;
const message = (kind: 'Human' | 'AI', id: string, content: string) => ({
  ...{ lc: 1, type: 'constructor', id: ['langchain_core', 'messages', `${kind}Message`] },
  kwargs: { id, content },
});

/** What a superstep flushes whose state holds these messages; null is a state without such a channel. */
function stateOf(baseVersion: number, messages: readonly object[] | null): FlushRows {
  const version = String(baseVersion + 1);
  const rows = stepAt(baseVersion + 1, 1);
  const frame = { v: 4, id: '', ts: '', channel_versions: {}, versions_seen: {} };
  const body = {
    writer: 'test',
    frame,
    inline: {},
    rows: messages === null ? {} : { messages: version },
  };
  const list = {
    ...{ ns: '', channel: 'messages', version, type: 'list', base: null, keep: 0 },
    ...{ length: messages?.length ?? 0, rest: utf8(JSON.stringify(messages)) },
  };
  return {
    ...rows,
    checkpoints: rows.checkpoints.map((row) => ({ ...row, body: utf8(JSON.stringify(body)) })),
    deltas: messages === null ? [] : [list],
  };
}
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
