import { afterEach, describe, expect, test } from '@jest/globals';
import { StorageUnavailable } from '../../storage/port.js';
import { type Gateway, type Options, playedWorkers, startGateway } from './gateway-under-test.js';

let gateway: Gateway;
const workers = playedWorkers();
async function begin(options: Options = {}): Promise<void> {
  gateway = await startGateway({ work: workers.work, ...options });
  await gateway.post('/v1/threads', { thread_id: 't' });
}
afterEach(() => gateway.close());

const post = (what: 'state' | 'reset', body: unknown, headers = {}) =>
  gateway.post(`/v1/threads/t/${what}`, body, headers);
async function said(text: string): Promise<void> {
  const asked = gateway.post('/v1/threads/t/turns', { message: text });
  await (await workers.next()).reply(text);
  await asked;
}

describe('edits of the state over HTTP', () => {
  test('F5 F6 A1 what is refused at the edge is no turn', async () => {
    await begin();
    await said('one');
    const { length } = gateway.wakes;
    const cases: [number, 'state' | 'reset', unknown, Record<string, string>?][] = [
      [400, 'state', {}],
      [400, 'state', { values: {}, other: 1 }],
      [400, 'state', { values: {}, as_node: '' }],
      [400, 'state', { values: {}, as_node: 7 }],
      [400, 'state', { values: {}, if_version: -1 }],
      [409, 'state', { values: {}, if_version: 2 }],
      [400, 'state', { values: {} }, { 'x-thread-id': 'other' }],
      [400, 'reset', {}],
      [400, 'reset', { version: 0 }],
      [400, 'reset', { version: '1' }],
      [404, 'reset', { version: 2 }],
      [409, 'reset', { version: 1, if_version: 2 }],
    ];
    for (const [status, what, body, headers] of cases) {
      const answer = await post(what, body, headers);
      expect([answer.status, what, body]).toEqual([status, what, body]);
    }
    expect((await gateway.post('/v1/threads/no/state', { values: {} })).status).toBe(404);
    expect((await gateway.post('/v1/threads/no/reset', { version: 1 })).status).toBe(404);
    expect((await gateway.get('/v1/threads/no')).status).toBe(404);
    expect(gateway.wakes).toHaveLength(length);
  });

  test('F5 A2 an update answers as a turn does, and the same key is the same update', async () => {
    await begin();
    const key = { 'idempotency-key': 'k' };
    const asked = post('state', { values: { topic: 'x' }, as_node: 'agent' }, key);
    const worker = await workers.next();
    await worker.reply('');
    const answer = await asked;
    expect(answer).toMatchObject({
      ...{ status: 200, json: { thread_id: 't', version: 1, seq: 1, status: 'committed' } },
    });
    const again = await post('state', { values: { topic: 'x' }, as_node: 'agent' }, key);
    expect([again.json, again.headers.get('idempotent-replayed')]).toEqual([answer.json, 'true']);
    const other = await post('state', { values: { topic: 'x' } }, key);
    expect(other.json).toMatchObject({ code: 'idempotency_key_reused' });
  });

  test('F5 A3 202 by Prefer and with Temporal down, 503 without the database', async () => {
    await begin({ deps: { wake: { wake: () => Promise.reject(new Error('UNAVAILABLE')) } } });
    const accepted = await post('state', { values: null });
    expect(accepted.status).toBe(202);
    const turn = await gateway.get(accepted.headers.get('location') ?? '');
    expect(turn.json).toMatchObject({ status: 'pending', seq: 1 });
    const async = await post('state', { values: null }, { prefer: 'respond-async' });
    expect(async).toMatchObject({ status: 202, json: { seq: 2 } });
    gateway.storage.turns.accept = () => Promise.reject(new StorageUnavailable('down'));
    expect((await post('state', { values: null })).status).toBe(503);
  });

  test.each([
    ['unknown_node', 422],
    ['invalid_update', 422],
    ['base_changed', 409],
  ] as const)('F5 F6 a worker that settles %s is answered %i', async (code, status) => {
    await begin();
    const asked = post('state', { values: {} });
    await (await workers.next()).settle({ kind: 'failed', failure: { code, message: 'why' } });
    expect(await asked).toMatchObject({ status, json: { code, detail: 'why' } });
  });
});
