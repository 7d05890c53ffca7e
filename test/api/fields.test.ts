import { afterEach, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { StorageUnavailable } from '../../storage/port.js';
import { type Gateway, type Options, playedWorkers, startGateway } from './gateway-under-test.js';

let gateway: Gateway;
const workers = playedWorkers();
const fields = z.object({ age: z.int() });
async function begin(options: Options = {}): Promise<void> {
  const graphs = { names: ['agent'], default: 'agent', fields: new Map([['agent', fields]]) };
  gateway = await startGateway({
    work: workers.work,
    ...options,
    deps: { graphs, ...options.deps },
  });
  await gateway.post('/v1/threads', { thread_id: 't' });
}
afterEach(() => gateway.close());

const send = async (method: string, name: string, body?: unknown, headers = {}) => {
  const res = await fetch(`${gateway.url}/v1/threads/t/fields/${name}`, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return {
    status: res.status,
    headers: res.headers,
    json: (await res.json()) as { code?: string },
  };
};

describe('writes of fields over HTTP', () => {
  test('F2 what is refused at the edge is no turn: bodies, values, names, versions', async () => {
    await begin();
    const cases: [number, string, unknown, Record<string, string>?][] = [
      [400, 'age', {}],
      [400, 'age', { value: 1, other: 2 }],
      [400, 'age', { value: 'x' }],
      [400, 'age', { value: null }],
      [404, 'name', { value: 1 }],
      [404, '%00', { value: 1 }],
      [400, 'age', { value: 1 }, { 'if-match': 'W/"x"' }],
      [400, 'age', { value: 1, if_version: 2 }, { 'if-match': '"1"' }],
      [409, 'age', { value: 1, if_version: 2 }],
      [400, 'age', { value: 1 }, { 'x-thread-id': '!' }],
    ];
    for (const [status, name, body, headers] of cases) {
      const answer = await send('PUT', name, body, headers);
      expect([answer.status, name, body]).toEqual([status, name, body]);
    }
    expect((await send('PUT', 'age')).status).toBe(400);
    expect((await send('PATCH', 'age', { value: 1 })).headers.get('allow')).toBe('PUT, DELETE');
    expect((await gateway.get('/v1/threads/t')).json).toMatchObject({ version: 0, status: 'idle' });
    expect(gateway.wakes).toEqual([]);
  });

  test('F1 A3 Temporal down is 202 with the place to look; the database down is 503', async () => {
    await begin({ deps: { wake: { wake: () => Promise.reject(new Error('UNAVAILABLE')) } } });
    const accepted = await send('PUT', 'age', { value: 1 });
    expect(accepted.status).toBe(202);
    const turn = await gateway.get(accepted.headers.get('location') ?? '');
    expect(turn.json).toMatchObject({ status: 'pending', seq: 1 });
    gateway.storage.turns.accept = () => Promise.reject(new StorageUnavailable('down'));
    expect((await send('DELETE', 'age')).status).toBe(503);
  });

  test.each([
    ['invalid_field', 400],
    ['unknown_field', 404],
    ['thread_interrupted', 409],
    ['base_changed', 409],
  ] as const)('F2 F4 a worker that settles %s is answered %i', async (code, status) => {
    await begin();
    const asked = send('PUT', 'age', { value: 1 });
    await (await workers.next()).settle({ kind: 'failed', failure: { code, message: 'why' } });
    expect(await asked).toMatchObject({ status, json: { code, detail: 'why' } });
  });

  test('F2 a memory store takes no key', async () => {
    await begin({ kind: 'memory' });
    const answer = await send('PUT', 'age', { value: 1 }, { 'idempotency-key': 'k' });
    expect(answer).toMatchObject({ status: 409, json: { code: 'idempotency_unsupported' } });
  });
});
