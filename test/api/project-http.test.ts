/** The `auth` and `http` of a langgraph.json, before a gateway over a real database. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import path from 'node:path';
import { pino } from 'pino';
import { identifyBy } from '../../api/project-auth.js';
import type { ProjectHttp } from '../../contracts/project-http.js';
import { loadProjectHttp } from '../../engine/project/http-exports.js';
import type { TurnInput } from '../../storage/port.js';
import { startGateway, type Gateway } from './gateway-under-test.js';

const here = process.cwd();
const project = path.resolve('test/projects/guarded/langgraph.json');
const as = (name: string) => ({ authorization: `Bearer token-of-${name}` });
const [ann, ben] = [as('ann'), as('ben')];

let gateway: Gateway;
const asked: TurnInput[] = [];
beforeAll(async () => {
  const http: ProjectHttp = await loadProjectHttp(project, process.env, (what) => {
    throw new Error(what);
  });
  process.chdir(here);
  if (http.auth === undefined) throw new Error('no auth');
  gateway = await startGateway({
    deps: { ...http, identify: identifyBy(http.auth, pino({ level: 'silent' })) },
    async work(worker) {
      asked.push(worker.turn.input);
      await worker.reply('done');
    },
  });
});
afterAll(() => gateway.close());

const say = (thread: string, headers: Record<string, string>, more: object = {}) =>
  gateway.post(`/v1/threads/${thread}/turns`, { message: 'hi', ...more }, headers);

describe('A10 auth', () => {
  test('A10 who brings nothing is told by the project, before anything is read; probes are let in', async () => {
    for (const route of ['/v1/threads', '/v1/threads/x/state', '/hello', '/nowhere']) {
      const refused = await gateway.get(route);
      expect(refused).toMatchObject({ status: 401, json: { code: 'unauthorized' } });
      expect(refused.raw).toContain('Bring a token.');
      expect(refused.headers.get('www-authenticate')).toBe('Bearer');
    }
    expect((await gateway.post('/v1/chat', 'x'.repeat(2 << 20))).status).toBe(401);
    const away = await gateway.get('/v1/threads', as('nobody'));
    expect([away.status, away.raw.includes('key server')]).toEqual([401, false]);
    // The way in that the platform's Studio has is none here.
    const studio = { 'x-auth-scheme': 'langsmith' };
    expect((await gateway.get('/v1/threads', studio)).status).toBe(401);
    expect((await gateway.get('/healthz')).status).toBe(200);
  });

  test('A10 A4 a thread is its owner’s: to others it is not there, on any route, and they cannot make it theirs', async () => {
    expect((await say('anns', ann)).status).toBe(200);
    const { json } = await gateway.get('/v1/threads/anns', ann);
    expect(json.metadata).toEqual({ owner: 'ann' });
    for (const route of ['', '/messages', '/state', '/history', '/fields'])
      expect((await gateway.get(`/v1/threads/anns${route}`, ben)).status).toBe(404);
    for (const [route, body] of [
      ['turns', { message: 'hi' }],
      ['state', { values: {} }],
      ['reset', { version: 1 }],
      ['wake', undefined],
    ] as const) {
      const answer = await gateway.post(`/v1/threads/anns/${route}`, body ?? '', ben);
      expect([route, answer.status, answer.json.code]).toEqual([route, 404, 'not_found']);
    }
    const made = await gateway.post('/v1/threads', { thread_id: 'anns' }, ben);
    expect(made.json.code).toBe('thread_exists');
    await say('bens', ben);
    const listed = (await gateway.get('/v1/threads', ben)).json.threads as { thread_id: string }[];
    expect(listed.map(({ thread_id }) => thread_id)).toEqual(['bens']);
    expect((await gateway.get('/v1/users/ann/memory', ben)).status).toBe(403);
    expect((await say('bens', ben, { user_id: 'ann' })).status).toBe(403);
  });

  test('A10 a handler that says false is 403, and nothing is made', async () => {
    const refused = await say('guests', as('guest'));
    expect(refused).toMatchObject({ status: 403, json: { code: 'forbidden' } });
    expect((await gateway.get('/v1/threads/guests', as('guest'))).status).toBe(404);
  });

  test('A10 the graph sees who asks, and nobody can say so himself', async () => {
    await say('seen', ann);
    const user = { identity: 'ann', display_name: 'ann', role: 'member', is_authenticated: true };
    expect(asked.at(-1)).toMatchObject({
      call: {
        configurable: {
          langgraph_auth_user: { ...user, permissions: ['chat'] },
          langgraph_auth_user_id: 'ann',
          langgraph_auth_permissions: ['chat'],
        },
      },
    });
    const forged = { config: { configurable: { langgraph_auth_user_id: 'ben' } } };
    expect((await say('seen', ann, forged)).status).toBe(400);
  });

  test('A10 A2 the same key of two callers is two turns', async () => {
    const key = { 'idempotency-key': 'k1' };
    const first = await gateway.post('/v1/chat', { message: 'hi' }, { ...ann, ...key });
    const second = await gateway.post('/v1/chat', { message: 'hi' }, { ...ben, ...key });
    const again = await gateway.post('/v1/chat', { message: 'hi' }, { ...ann, ...key });
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.json.thread_id).not.toBe(first.json.thread_id);
    expect(again.raw).toBe(first.raw);
  });
});

describe('A11 routes and origins of the project', () => {
  test('A11 its routes come first, whole, behind its auth; what they do not take is ours, its body unread', async () => {
    const hello = await gateway.get('/hello', ann);
    expect(hello).toMatchObject({ status: 200, raw: '<h1>Bearer token-of-ann</h1>' });
    expect(hello.headers.get('content-security-policy')).toBeNull();
    expect(hello.headers.getSetCookie()).toEqual(['seen=1']);
    expect(hello.headers.get('x-request-id')).not.toBeNull();
    const upper = await gateway.post('/upper', { say: 'it' }, ann);
    expect(upper.raw).toBe('{"SAY":"IT"}');
    const ours = await say('ours', ann);
    expect(ours).toMatchObject({ status: 200, json: { response: 'done' } });
    expect(ours.headers.get('x-by')).toBe('guarded');
    expect((await gateway.get('/nowhere', ann)).json.code).toBe('not_found');
  });

  test('A11 one that throws is a 500 without its words, and the gateway goes on', async () => {
    const thrown = await gateway.get('/throws', ann);
    expect([thrown.status, thrown.raw.includes('secret')]).toEqual([500, false]);
    expect((await say('after', ann)).status).toBe(200);
  });

  test('A11 browsers of the origins that it names are let in, and no others', async () => {
    const origin = async (name: string) =>
      (await gateway.get('/healthz', { origin: name })).headers.get('access-control-allow-origin');
    expect(await origin('https://app.example')).toBe('https://app.example');
    expect(await origin('https://x.dev.example')).toBe('https://x.dev.example');
    expect(await origin('https://x.dev.example.evil')).toBeNull();
    const asks = { origin: 'https://app.example', 'access-control-request-method': 'POST' };
    const preflight = await fetch(`${gateway.url}/v1/chat`, { method: 'OPTIONS', headers: asks });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-methods')).toContain('POST');
  });

  test('A10 A11 an auth that does not load stops the start; an application that does not is left out, and both are named', async () => {
    const told: string[] = [];
    const load = (file: string) =>
      loadProjectHttp(path.join(here, file), process.env, (what) => told.push(what));
    await expect(load('test/projects/unguarded/langgraph.json')).rejects.toThrow(
      /"auth.path" .*\.\/missing.mjs, export "auth".* no such file/,
    );
    const { app } = await load('test/projects/unguarded/app-only.json');
    process.chdir(here);
    expect([app, told.length]).toEqual([undefined, 1]);
    expect(told[0]).toMatch(/"http.app" .*\.\/broken.mjs, export "app".* cannot be reached/);
  });
});
