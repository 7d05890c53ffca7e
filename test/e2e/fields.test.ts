/** Typed fields on the running product: a user's project on PostgreSQL with a gateway and two workers. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import path from 'node:path';
import type { CrashPoint } from '../../contracts/crash-point.js';
import { startMortal } from '../support/mortal.js';
import type { Mortal } from '../support/mortal.js';
import { request } from '../support/product.js';
import type { Answer } from '../support/product.js';
import { until } from '../support/until.js';

let s: Mortal;
beforeAll(async () => {
  s = await startMortal('postgres', {
    EVERTHREAD_CONFIG: path.resolve('test/fixtures/projects/fields/langgraph.json'),
    EVERTHREAD_THREAD_IDLE: '1s',
  });
});
afterAll(() => s.stop());

type Headers = Record<string, string>;
const fieldsOf = (thread: string): string => `/v1/threads/${thread}/fields`;

const put = (thread: string, name: string, value: unknown, headers: Headers = {}) =>
  request(`${s.url()}${fieldsOf(thread)}/${name}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ value }),
  });
const clear = (thread: string, name: string, headers: Headers = {}): Promise<Answer> =>
  request(`${s.url()}${fieldsOf(thread)}/${name}`, { method: 'DELETE', headers });
const say = (thread: string, message: string, headers: Headers = {}): Promise<Answer> =>
  s.post(`/v1/threads/${thread}/turns`, { message }, headers);

/** A new thread of that graph. */
async function made(thread: string, graph = 'form'): Promise<string> {
  expect((await s.post('/v1/threads', { thread_id: thread, graph })).status).toBe(201);
  return thread;
}

describe('fields of a user graph', () => {
  test('F1 F3 a write is a version with its own reply, a read is of what is committed, and the graph sees it', async () => {
    const t = await made('plainly');
    const empty = await s.get(fieldsOf(t));
    expect(empty.json).toMatchObject({ version: 0, fields: {} });
    expect(empty.json.schema).toMatchObject({ properties: { email: {} }, required: ['email'] });
    const one = await put(t, 'email', 'a@example.org');
    expect(one.json).toMatchObject({ version: 1, seq: 1, fields: { email: 'a@example.org' } });
    const two = await put(t, 'tags', ['  New ', 'EU']);
    expect(two.json.fields).toEqual({ email: 'a@example.org', tags: ['new', 'eu'] });
    const chat = await say(t, 'age 41');
    expect(chat.json).toMatchObject({
      version: 3,
      response: 'saw {"email":"a@example.org","tags":["new","eu"]}',
      output: { fields: { age: 41, email: 'a@example.org' } },
    });
    expect((await clear(t, 'email')).json).toMatchObject({ version: 4, fields: { age: 41 } });
    const read = await s.get(fieldsOf(t));
    expect(read.headers.get('etag')).toBe('"4"');
    expect(read.json.fields).toEqual({ age: 41, tags: ['new', 'eu'] });
    const { messages } = (await s.get(`/v1/threads/${t}/messages`)).json as { messages: unknown[] };
    expect(messages).toHaveLength(3);
    expect(s.model.calls).toHaveLength(1); // of the chat turn alone
    expect((await s.get(`/v1/threads/${t}`)).json).toMatchObject({ version: 4, status: 'idle' });
  });

  test.each([
    ['a gateway that knows the schema', 'form'],
    ['workers that alone know it', 'distant'],
  ])(
    'F2 a bad value is 400 with the reason, an unknown field 404, by %s; nothing changes',
    async (_, graph) => {
      const t = await made(`refused-${graph}`, graph);
      await put(t, 'age', 7);
      const bad = await put(t, 'email', 'no address');
      expect([bad.status, bad.json.code]).toEqual([400, 'invalid_field']);
      expect(bad.json.detail).toMatch(/"email".*email address/i);
      expect((await put(t, 'age', -1)).json.detail).toContain('nobody is younger than that');
      expect((await put(t, 'tags', ['x', 3])).json.detail).toContain('1: ');
      for (const name of ['no_such', '__proto__', 'toString', 'x'.repeat(300)]) {
        const unknown = await put(t, name, 1);
        expect([unknown.status, unknown.json.code]).toEqual([404, 'unknown_field']);
      }
      expect((await clear(t, 'no_such')).status).toBe(404);
      const read = await s.get(fieldsOf(t));
      expect(read.json).toMatchObject({ version: 1, fields: { age: 7 } });
      expect('schema' in read.json).toBe(graph === 'form');
      expect((await put(t, 'age', 8)).json.version).toBe(2);
    },
  );

  test('F2 no fields without a schema, no thread by a write', async () => {
    const t = await made('none', 'plain');
    for (const answer of [await s.get(fieldsOf(t)), await put(t, 'email', 'a@example.org')]) {
      expect([answer.status, answer.json.code]).toEqual([404, 'not_found']);
      expect(answer.json.detail).toContain('declares no fields');
    }
    expect((await put('never-was', 'email', 'a@example.org')).status).toBe(404);
    expect((await s.get('/v1/threads/never-was')).status).toBe(404);
  });

  test('F1 a write waits for its place behind a chat turn; one that was based on the older version is refused', async () => {
    const t = await made('behind');
    await put(t, 'email', 'a@example.org');
    const chat = say(t, 'delay=800 age 30 behind');
    await s.model.until(() => s.model.count('behind') === 1);
    const [late, stale, based] = await Promise.all([
      put(t, 'email', 'b@example.org'),
      put(t, 'email', 'c@example.org', { 'if-match': '"1"' }),
      request(`${s.url()}${fieldsOf(t)}/email`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ value: 'd@example.org', if_version: 0 }),
      }),
    ]);
    expect((await chat).json.version).toBe(2);
    expect(late.json).toMatchObject({ version: 3, fields: { age: 30, email: 'b@example.org' } });
    for (const refused of [stale, based]) {
      expect([refused.status, refused.json.code]).toEqual([409, 'base_changed']);
    }
    expect((await put(t, 'age', 31, { 'if-match': '"3"' })).json.version).toBe(4);
    expect((await clear(t, 'age', { 'if-match': '"3"' })).json.code).toBe('base_changed');
  });

  test('F1 A2 the same key is the same write; another body is refused', async () => {
    const t = await made('keyed');
    const key = { 'idempotency-key': 'k' };
    const [one, other] = await Promise.all([put(t, 'age', 1, key), put(t, 'age', 1, key)]);
    expect(one.text).toBe(other.text);
    await put(t, 'age', 2);
    const replay = await put(t, 'age', 1, key);
    expect([replay.text, replay.headers.get('idempotent-replayed')]).toEqual([one.text, 'true']);
    expect((await put(t, 'age', 3, key)).json.code).toBe('idempotency_key_reused');
    expect((await clear(t, 'age', key)).json.code).toBe('idempotency_key_reused');
    expect((await s.get(fieldsOf(t))).json).toMatchObject({ version: 2, fields: { age: 2 } });
  });

  test('F4 a thread that waits for an answer keeps its question', async () => {
    const t = await made('waiting', 'asking');
    await put(t, 'age', 5);
    expect((await say(t, 'go')).json.status).toBe('interrupted');
    const refused = await put(t, 'age', 6);
    expect([refused.status, refused.json.code]).toEqual([409, 'thread_interrupted']);
    const resumed = await s.post(`/v1/threads/${t}/turns`, { resume: 'yes' });
    expect(resumed.json.response).toBe('yes {"age":5}');
    expect((await put(t, 'age', 6)).status).toBe(200);
  });

  test('T5 T6 a write wakes a sleeping thread; one that waits when the thread is deleted is told so', async () => {
    const t = await made('asleep');
    await put(t, 'age', 1);
    await until('the run to complete', async () => (await s.sleeps(t)) || undefined);
    expect((await put(t, 'age', 2)).json).toMatchObject({ version: 2 });
    const chat = say(t, 'hang=1 asleep');
    await s.model.until(() => s.model.count('asleep') === 1);
    const running = await s.newestTurn(t);
    const waits = put(t, 'age', 3);
    await until('the write to be accepted', async () =>
      (await s.newestTurn(t)) === running ? undefined : true,
    );
    expect((await s.delete(`/v1/threads/${t}`)).status).toBe(204);
    expect([(await waits).status, (await chat).status]).toEqual([410, 410]);
    expect((await s.get(fieldsOf(t))).status).toBe(404);
    await made(t);
    expect((await s.get(fieldsOf(t))).json).toMatchObject({ epoch: 2, version: 0, fields: {} });
    expect((await put(t, 'age', 4)).json).toMatchObject({ version: 1, fields: { age: 4 } });
  });
});

describe('a process dies at a write', () => {
  test.each<readonly [CrashPoint, 'gateway' | 'worker']>([
    ['after-accept', 'gateway'],
    ['in-claim', 'worker'],
    ['before-commit', 'worker'],
    ['after-commit', 'worker'],
    ['before-reply', 'gateway'],
  ])(
    'F1 C1 T2 %s of the %s: it is written once, and the same key tells it',
    async (point, role) => {
      const t = await made(`dies-${point}`);
      const key = { 'idempotency-key': 'once' };
      await put(t, 'email', 'a@example.org');
      await s.arm(point, t);
      const asked = put(t, 'age', 50, key).catch(() => undefined);
      expect(await s.dead(point, t)).toBe(role);
      const answered = await asked;
      const again = await put(t, 'age', 50, key);
      expect(again.json).toMatchObject({ version: 2, fields: { age: 50, email: 'a@example.org' } });
      if (answered !== undefined) expect(answered.text).toBe(again.text);
      expect((await say(t, 'and on')).json.response).toBe('saw {"email":"a@example.org","age":50}');
      expect((await s.get(`/v1/threads/${t}`)).json.version).toBe(3);
    },
  );
});

type Op =
  | { readonly kind: 'put'; readonly name: 'email' | 'age'; readonly value: unknown }
  | { readonly kind: 'clear'; readonly name: 'email' | 'age' }
  | { readonly kind: 'say'; readonly age: number };
const op = fc.oneof<fc.Arbitrary<Op>[]>(
  fc.nat(99).map((n) => ({ kind: 'put', name: 'age', value: n })),
  fc.nat(99).map((n) => ({ kind: 'put', name: 'email', value: `u${n}@example.org` })),
  fc.constantFrom('email' as const, 'age' as const).map((name) => ({ kind: 'clear', name })),
  fc.nat(99).map((age) => ({ kind: 'say', age })),
);

describe('chat turns and writes at once', () => {
  test('F1 T1 any of them together have one order, and each tells the fields of its place in it', async () => {
    let n = 0;
    const property = fc.asyncProperty(
      fc.array(op, { minLength: 6, maxLength: 12 }),
      async (ops) => {
        const t = await made(`at-once-${++n}`);
        const answers = await Promise.all(
          ops.map((one) => {
            switch (one.kind) {
              case 'put':
                return put(t, one.name, one.value);
              case 'clear':
                return clear(t, one.name);
              case 'say':
                return say(t, `age ${one.age} of ${t}`);
            }
          }),
        );
        const versions = answers.map(({ json }) => json.version as number);
        expect([...versions].sort((a, b) => a - b)).toEqual(ops.map((_, i) => i + 1));
        let fields: Record<string, unknown> = {};
        for (const i of versions.map((v, at) => [v, at] as const).sort(([a], [b]) => a - b)) {
          const [, at] = i;
          const [one, answer] = [ops[at], answers[at]];
          if (one?.kind === 'say') {
            expect(answer?.json.response).toBe(`saw ${sorted(fields, answer?.json.response)}`);
            fields = { ...fields, age: one.age };
          } else if (one?.kind === 'put') fields = { ...fields, [one.name]: one.value };
          else fields = Object.fromEntries(Object.entries(fields).filter(([k]) => k !== one?.name));
          const told = one?.kind === 'say' ? answer?.json.output : answer?.json;
          expect((told as { fields?: unknown }).fields ?? {}).toEqual(fields);
        }
        expect((await s.get(fieldsOf(t))).json).toMatchObject({ version: ops.length });
        expect((await s.get(fieldsOf(t))).json.fields).toEqual(fields);
      },
    );
    await fc.assert(property, { numRuns: 4, endOnFailure: true });
  });
});

/** The reply quotes the fields in an order of its own: the same values in that order. */
function sorted(fields: Record<string, unknown>, response: unknown): string {
  const shown = JSON.parse(String(response).replace(/^saw /, '')) as Record<string, unknown>;
  expect(shown).toEqual(fields);
  return JSON.stringify(shown);
}
