import { afterEach, describe, expect, test } from '@jest/globals';
import { CommitUnknown, StorageUnavailable, type Storage } from '../../storage/port.js';
import {
  committed,
  type Gateway,
  type Options,
  playedWorkers,
  startGateway,
} from './gateway-under-test.js';

let gateway: Gateway;
const workers = playedWorkers();
const begin = async (options: Options = {}): Promise<Gateway> =>
  (gateway = await startGateway({ work: workers.work, ...options }));
afterEach(() => gateway.close());

const say = { message: 'go' };
const failure = { code: 'model_unauthorized', message: 'The model refused the key.' } as const;

describe('what a settled turn answers', () => {
  test('failed: 502 with its code for the waiter, 200 with its error for a GET, a new turn for its key', async () => {
    await begin();
    const key = { 'idempotency-key': 'k' };
    const first = gateway.post('/v1/threads/t/turns', say, key);
    await (await workers.next()).settle({ kind: 'failed', failure });
    const a = await first;
    expect([a.status, a.json.code, a.json.failure]).toEqual([502, 'turn_failed', failure.code]);
    expect(a.json).toMatchObject({ thread_id: 't', detail: failure.message });
    const turn = await gateway.get(`/v1/threads/t/turns/${a.json.turn_id}`);
    expect([turn.status, turn.json.status, turn.json.error]).toEqual([200, 'failed', failure]);
    const again = gateway.post('/v1/threads/t/turns', say, key);
    await (await workers.next()).reply('now');
    expect((await again).json).toMatchObject({ seq: 2, version: 1, response: 'now' });
  });

  test('P7 P9 a failure that the client could have known is a 409', async () => {
    await begin();
    for (const code of ['resume_stale', 'base_changed'] as const) {
      const posted = gateway.post('/v1/chat', say);
      await (await workers.next()).settle({ kind: 'failed', failure: { code, message: 'moved' } });
      const a = await posted;
      expect([a.status, a.json.code]).toEqual([409, code]);
    }
  });

  test('P6 P9 cancelled: 409 for the waiter and for every replay of its key, repeatable', async () => {
    await begin();
    const key = { 'idempotency-key': 'k' };
    const posted = gateway.post('/v1/threads/t/turns', say, key);
    const { claim } = await workers.next();
    const cancel = `/v1/threads/t/turns/${claim.turnId}/cancel`;
    for (const body of [{}, '']) expect((await gateway.post(cancel, body)).status).toBe(200);
    expect((await posted).json).toMatchObject({ code: 'turn_cancelled', turn_id: claim.turnId });
    const replay = await gateway.post('/v1/threads/t/turns', say, key);
    expect([replay.status, replay.json.code]).toEqual([409, 'turn_cancelled']);
    expect(replay.headers.get('idempotent-replayed')).toBe('true');
    const stream = await gateway.stream('/v1/threads/t/turns', say, key);
    expect([stream.status, stream.headers.get('content-type')]).toEqual([
      ...[409, 'application/problem+json; charset=utf-8'],
    ]);
  });

  test.each(['interrupt', 'rollback'])(
    'P6 `%s` tells of the turn that it cancels at once, its waiter and its worker: no poll, no tick',
    async (multitask) => {
      await begin({ settings: { pollMs: 600_000 } });
      const running = gateway.post('/v1/threads/t/turns', say);
      const { claim } = await workers.next();
      const fence = new Promise((heard) => gateway.relay.onWake(claim.turnId, heard));
      const next = gateway.post('/v1/threads/t/turns', { ...say, multitask });
      expect((await running).json).toMatchObject({ status: 409, code: 'turn_cancelled' });
      expect(await fence).toBe(claim.fence + 1); // a worker whose own fence is another looks at the row
      await (await workers.next()).reply('next');
      expect((await next).json).toMatchObject({ seq: 2, response: 'next' });
    },
  );

  test('P6 a commit that was first wins over a cancel', async () => {
    await begin();
    const posted = gateway.post('/v1/threads/t/turns', say);
    await (await workers.next()).reply('first');
    const { turn_id: id } = (await posted).json;
    const a = await gateway.post(`/v1/threads/t/turns/${id}/cancel`, {});
    expect([a.status, a.json.code]).toEqual([409, 'turn_settled']);
    expect((await gateway.post('/v1/threads/t/turns/nope/cancel', {})).status).toBe(404);
  });

  test('P7 interrupted: 200 with its interrupts; a resume goes on, null counts as one', async () => {
    await begin();
    const posted = gateway.post('/v1/threads/t/turns', say);
    const worker = await workers.next();
    const base = committed(worker.claim, 'go', '');
    const interrupts = [{ id: 'i-1', value: { ask: 'sure?' } }];
    await worker.settle({ ...base, kind: 'interrupted', interrupts } as typeof base);
    const a = await posted;
    expect([a.status, a.json.status, a.json.interrupts]).toEqual([200, 'interrupted', interrupts]);
    expect((await gateway.get('/v1/threads/t')).json).toMatchObject({
      status: 'interrupted',
      interrupts,
    });
    const resumed = gateway.post('/v1/threads/t/turns', { resume: null });
    const resuming = await workers.next();
    expect(resuming.turn.input).toEqual({ kind: 'resume', value: null });
    await resuming.reply('went on');
    expect((await resumed).json.response).toBe('went on');
    const stale = await gateway.post('/v1/threads/t/turns', { resume: 1 });
    expect([stale.status, stale.json.code]).toEqual([409, 'resume_stale']);
  });

  test('P8 deleted while it ran: 410 for the waiter, 404 for the thread, a wake that starts nothing', async () => {
    await begin();
    const posted = gateway.post('/v1/threads/t/turns', say);
    const { claim } = await workers.next();
    expect((await gateway.delete('/v1/threads/t')).status).toBe(204);
    expect((await gateway.delete('/v1/threads/t')).status).toBe(204);
    expect([(await posted).status, (await posted).json.code]).toEqual([410, 'thread_deleted']);
    expect(gateway.wakes.at(-1)).toEqual({
      ...{ thread: claim.thread, seq: 2, start: false },
    });
    for (const route of ['', '/messages', '/state', '/history']) {
      expect((await gateway.get(`/v1/threads/t${route}`)).status).toBe(404);
    }
    expect((await gateway.get(`/v1/threads/t/turns/${claim.turnId}`)).status).toBe(410);
    expect((await gateway.delete('/v1/threads/never')).status).toBe(404);
  });
});

describe('what is refused at accept', () => {
  test('P9 reject, a full queue, another base, another graph: nothing is written', async () => {
    await begin({ settings: { maxPending: 1 } });
    const route = '/v1/threads/t/turns';
    const running = gateway.post(route, { ...say, graph: 'agent' });
    const worker = await workers.next();
    const rejected = await gateway.post(route, { ...say, multitask: 'reject' });
    expect([rejected.status, rejected.json.code]).toEqual([409, 'turn_in_progress']);
    const full = await gateway.post(route, say);
    expect([full.status, full.json.code]).toEqual([429, 'rate_limited']);
    expect(full.headers.get('retry-after')).toBe('1');
    await worker.reply('done');
    await running;
    const based = await gateway.post(route, { ...say, if_version: 7 });
    expect([based.status, based.json.code, based.json.version]).toEqual([409, 'base_changed', 1]);
    const other = await gateway.post(route, { ...say, graph: 'other' });
    expect([other.status, other.json.code]).toEqual([409, 'graph_mismatch']);
    expect((await gateway.get('/v1/threads/t')).json).toMatchObject({ version: 1, status: 'idle' });
    expect((await gateway.get('/v1/threads/t/history')).json.history).toHaveLength(1);
  });
});

describe('P9 once accepted, every answer names the turn', () => {
  test('a turn that takes longer than the wait: 202 and where to look', async () => {
    await begin({ settings: { waitMs: 20 } });
    const a = await gateway.post('/v1/threads/t/turns', say);
    expect([a.status, a.headers.get('location')]).toEqual([
      202,
      `/v1/threads/t/turns/${a.json.turn_id}`,
    ]);
    await (await workers.next()).reply('later');
    expect((await gateway.get(a.headers.get('location') ?? '')).json.response).toBe('later');
  });

  test('A3 Temporal down: 202, and a stream that stays open', async () => {
    const wake = { wake: () => Promise.reject(new Error('UNAVAILABLE')) };
    await begin({ deps: { wake } });
    const a = await gateway.post('/v1/threads/t/turns', say);
    expect([a.status, a.json.status]).toEqual([202, 'pending']);
    const stream = await gateway.stream('/v1/threads/u/turns', say);
    await stream.until('accepted');
    stream.leave();
    expect((await gateway.delete('/v1/threads/t')).status).toBe(204);
  });

  const failing = async (accept: (real: Storage) => Storage['turns']['accept']): Promise<void> => {
    const real = await begin();
    const turns = { ...real.storage.turns, accept: accept(real.storage) };
    const deps = { storage: { ...real.storage, turns }, wake: { wake: () => Promise.resolve() } };
    gateway = await startGateway({ deps });
    const { close } = gateway;
    gateway = { ...gateway, close: () => close().then(real.close) };
  };

  test('A3 database down: 503, nothing is written, the process stays up', async () => {
    await failing(
      () => () => Promise.reject(new StorageUnavailable('connection refused at 10.0.0.1')),
    );
    const a = await gateway.post('/v1/threads/t/turns', say);
    expect([a.status, a.json.code, a.headers.get('retry-after')]).toEqual([
      503,
      'unavailable',
      '1',
    ]);
    expect(a.raw).not.toContain('10.0.0.1');
    expect((await gateway.stream('/v1/threads/t/turns', say)).status).toBe(503);
    expect((await gateway.get('/healthz')).status).toBe(200);
  });

  test('COMMIT unknown and done: the turn is found by its id and answered', async () => {
    await failing((real) => async (input) => {
      await real.turns.accept(input);
      throw new CommitUnknown('cut');
    });
    const posted = gateway.post('/v1/threads/t/turns', say, { prefer: 'respond-async' });
    expect((await posted).json).toMatchObject({ seq: 1, status: 'pending' });
  });

  test('COMMIT unknown and lost: 503 that names the turn', async () => {
    await failing(() => () => Promise.reject(new CommitUnknown('cut')));
    const a = await gateway.post('/v1/threads/t/turns', say);
    expect([a.status, typeof a.json.turn_id]).toEqual([503, 'string']);
  });
});

describe('threads', () => {
  test('are created once: the same again is 200, with other data 409', async () => {
    await begin();
    const body = { thread_id: 't', graph: 'other', metadata: { b: 1, a: [2] } };
    const a = await gateway.post('/v1/threads', body);
    expect([a.status, a.headers.get('location')]).toEqual([201, '/v1/threads/t']);
    expect(a.json).toMatchObject({ thread_id: 't', version: 0, status: 'idle', graph: 'other' });
    const again = { ...body, metadata: { a: [2], b: 1 } };
    expect((await gateway.post('/v1/threads', again)).status).toBe(200);
    expect((await gateway.post('/v1/threads', { thread_id: 't' })).status).toBe(200);
    const other = await gateway.post('/v1/threads', { ...body, metadata: {} });
    expect([other.status, other.json.code]).toEqual([409, 'thread_exists']);
    expect((await gateway.post('/v1/threads', { graph: 'nope' })).status).toBe(404);
    const made = await gateway.post('/v1/threads', {});
    expect(made.headers.get('x-thread-id')).toBe(made.json.thread_id);
  });

  test('messages come in pages, oldest first, and only committed ones', async () => {
    await begin();
    for (const n of [1, 2, 3]) {
      const posted = gateway.post('/v1/threads/t/turns', { message: `m${n}` });
      await (await workers.next()).reply(`r${n}`);
      await posted;
    }
    void gateway.post('/v1/threads/t/turns', { message: 'not yet' }, { prefer: 'respond-async' });
    await workers.next();
    const seen: unknown[] = [];
    for (let after = ''; ;) {
      const { json } = await gateway.get(`/v1/threads/t/messages?limit=2${after}`);
      seen.push(...(json.messages as { content: string }[]).map((m) => m.content));
      if (json.next_cursor === null) break;
      after = `&after=${json.next_cursor as string}`;
    }
    expect(seen).toEqual(['m1', 'r1', 'm2', 'r2', 'm3', 'r3']);
    const { json } = await gateway.get('/v1/threads/t/history?limit=2');
    expect((json.history as { version: number }[]).map((h) => h.version)).toEqual([3, 2]);
    expect(json.next_before).toBe(2);
    expect((await gateway.get('/v1/threads/t')).json).toMatchObject({ version: 3, status: 'busy' });
  });

  test('an unknown thread and an unknown turn are 404', async () => {
    await begin();
    expect((await gateway.get('/v1/threads/never')).json.code).toBe('not_found');
    expect((await gateway.get('/v1/threads/never/turns/never')).json.code).toBe('not_found');
    expect((await gateway.join('/v1/threads/never/turns/never/stream')).status).toBe(404);
  });
});
