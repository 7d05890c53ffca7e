import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Gateway, startGateway } from './gateway-under-test.js';
import { silentRelay } from '../support/silent-relay.js';

describe.each([
  ['the relay of one process', () => ({})],
  ['a relay that delivers nothing', () => ({ relay: silentRelay() })],
])('turns over HTTP with %s', (_, options) => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await startGateway(options());
  });
  afterAll(() => gateway.close());

  test('a chat without a thread id gets one, in body and header, and a committed reply', async () => {
    const a = await gateway.post('/v1/chat', { message: 'hi' });
    expect(a.status).toBe(200);
    expect(a.json).toMatchObject({
      ...{ seq: 1, epoch: 1, version: 1, base_version: 0, status: 'committed' },
      response: 'you said: hi',
      output: { n: 1, messages: [{ role: 'user' }, { role: 'assistant' }] },
    });
    expect(a.json.thread_id).toMatch(/^[0-9a-f-]{36}$/);
    expect(a.headers.get('x-thread-id')).toBe(a.json.thread_id);
    const b = await gateway.post(
      '/v1/chat',
      { message: 'on' },
      { 'x-thread-id': a.json.thread_id },
    );
    expect(b.json).toMatchObject({ thread_id: a.json.thread_id, seq: 2, version: 2 });
  });

  test('S1 C2 a stream ends with done, whose data are the bytes of the JSON answer', async () => {
    const stream = await gateway.stream('/v1/threads/s-1/turns', { message: 'stream me' });
    expect(stream.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(stream.headers.get('cache-control')).toBe('no-cache, no-transform');
    expect(stream.headers.get('x-thread-id')).toBe('s-1');
    const events = await stream.rest();
    expect(events[0]?.event).toBe('accepted');
    const done = events.at(-1);
    expect(done?.event).toBe('done');
    const turn = await gateway.get(`/v1/threads/s-1/turns/${done?.json.turn_id}`);
    expect(JSON.stringify(done?.json)).toBe(turn.raw);
  });

  test('respond-async is answered 202 at once, with the place to look', async () => {
    const a = await gateway.post(
      '/v1/threads/async/turns',
      { message: 'later' },
      { prefer: 'wait=5, respond-async' },
    );
    expect(a.status).toBe(202);
    expect(a.json).toEqual({
      ...{ thread_id: 'async', turn_id: a.json.turn_id, seq: 1, epoch: 1, status: 'pending' },
    });
    const where = a.headers.get('location');
    expect(where).toBe(`/v1/threads/async/turns/${a.json.turn_id}`);
    const joined = await gateway.join(`${String(where)}/stream`);
    expect((await joined.rest()).at(-1)?.event).toBe('done');
  });

  test('/v2/agent/invoke speaks its own form', async () => {
    const a = await gateway.post('/v2/agent/invoke', { user_input: 'hola' });
    expect(a.json).toEqual({
      status: 'success',
      thread_id: a.headers.get('x-thread-id'),
      agent_response: 'you said: hola',
    });
  });

  test('A2 C2 P9 one key is one turn: attached while it runs, replayed byte for byte after, refused for another body', async () => {
    const key = { 'idempotency-key': 'k-1', 'x-thread-id': 'keys' };
    const body = { message: 'once' };
    const both = await Promise.all([
      gateway.post('/v1/chat', body, key),
      gateway.post('/v1/threads/keys/turns', body, { ...key, 'idempotency-key': '"k-1"' }),
    ]);
    expect(both[0].raw).toBe(both[1].raw);
    const replay = await gateway.post('/v1/chat', '{ "message" : "once" }', key);
    expect(replay.headers.get('idempotent-replayed')).toBe('true');
    expect(replay.raw).toBe(both[0].raw);
    const stream = await gateway.stream('/v1/chat', body, key);
    expect(stream.headers.get('idempotent-replayed')).toBe('true');
    const events = await stream.rest();
    expect(events[0]).toMatchObject({ event: 'accepted', json: { version: both[0].json.version } });
    expect(JSON.stringify(events.at(-1)?.json)).toBe(both[0].raw);
    const reused = await gateway.post('/v1/chat', { message: 'twice' }, key);
    expect([reused.status, reused.json.code]).toEqual([409, 'idempotency_key_reused']);
    expect((await gateway.stream('/v1/chat', { message: 'twice' }, key)).status).toBe(409);
    const other = await gateway.post('/v1/chat', { message: 'x' }, { ...key, 'x-thread-id': 'k2' });
    expect(other.status).toBe(200);
  });

  test('A1 a body of null or a number is told what is wanted', async () => {
    for (const [body, given] of [
      ['null', 'null'],
      ['1', 'number'],
    ] as const) {
      const refused = await gateway.post('/v1/threads/none/turns', body);
      expect([refused.status, refused.json.code]).toEqual([400, 'invalid_request']);
      const message = `Invalid input: expected object, received ${given}`;
      expect(refused.json.errors).toEqual([{ path: '', message }]);
    }
    expect((await gateway.get('/v1/threads/none')).status).toBe(404);
  });

  test('P9 a key without a thread id finds its thread again', async () => {
    const key = { 'idempotency-key': 'no-thread' };
    const a = await gateway.post('/v1/chat', { message: 'lost answer' }, key);
    const b = await gateway.post('/v1/chat', { message: 'lost answer' }, key);
    expect(b.raw).toBe(a.raw);
  });
});
