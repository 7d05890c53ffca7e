/** Updates and resets of the state on the running product: `everthread dev` on SQLite with a user's project. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import path from 'node:path';
import { runCli } from '../cli/run-cli.js';
import { startMortal } from '../support/mortal.js';
import type { Mortal } from '../support/mortal.js';
import type { Answer } from '../support/product.js';

let s: Mortal;
beforeAll(async () => {
  s = await startMortal('sqlite', {
    EVERTHREAD_CONFIG: path.resolve('test/fixtures/projects/fields/langgraph.json'),
  });
});
afterAll(() => s.stop());

type Headers = Record<string, string>;
const say = (thread: string, message: string): Promise<Answer> =>
  s.post(`/v1/threads/${thread}/turns`, { message });
const update = (thread: string, body: unknown, headers: Headers = {}): Promise<Answer> =>
  s.post(`/v1/threads/${thread}/state`, body, headers);
const reset = (thread: string, version: number, headers: Headers = {}): Promise<Answer> =>
  s.post(`/v1/threads/${thread}/reset`, { version }, headers);
const state = async (thread: string): Promise<Record<string, unknown>> =>
  (await s.get(`/v1/threads/${thread}/state`)).json;

async function made(thread: string, graph = 'form'): Promise<string> {
  expect((await s.post('/v1/threads', { thread_id: thread, graph })).status).toBe(201);
  return thread;
}

describe('edits of the state', () => {
  test('F5 T1 an update behind a running turn waits for its place, on the state that the turn leaves', async () => {
    const t = await made('behind');
    const chat = say(t, 'delay=800 age 30 behind');
    await s.model.until(() => s.model.count('behind') === 1);
    const asked = { values: { fields: { age: 31 } } };
    const [late, stale] = await Promise.all([
      update(t, asked),
      update(t, { ...asked, if_version: 0 }),
    ]);
    expect((await chat).json).toMatchObject({ version: 1, output: { fields: { age: 30 } } });
    expect(late).toMatchObject({
      status: 200,
      json: { version: 2, status: 'committed', output: { fields: { age: 31 }, messages: [] } },
    });
    expect([stale.status, stale.json.code]).toEqual([409, 'base_changed']);
    expect((await say(t, 'and on')).json.response).toBe('saw {"age":31}');
    const waits = await update(t, { values: { fields: { age: 32 } }, as_node: 'model' });
    expect(waits.json).toMatchObject({ version: 4, status: 'interrupted' });
    expect(await state(t)).toMatchObject({ next: ['note'], values: { fields: { age: 32 } } });
    const ran = await s.post(`/v1/threads/${t}/turns`, { resume: null });
    expect(ran.json).toMatchObject({ version: 5, response: 'saw {"age":32}' });
    expect(s.model.count('and on')).toBe(1);
  });

  test('F5 what the graph refuses is 422, and the thread stays as it was', async () => {
    const t = await made('refused');
    await say(t, 'age 1 refused');
    for (const [body, code] of [
      [{ values: {}, as_node: 'nobody' }, 'unknown_node'],
      [{ values: 7, as_node: 'note' }, 'invalid_update'],
      [{ values: { messages: [{ role: 'nobody' }] }, as_node: 'note' }, 'invalid_update'],
    ] as const) {
      const refused = await update(t, body);
      expect([refused.status, refused.json.code]).toEqual([422, code]);
    }
    expect(await state(t)).toMatchObject({ version: 1, values: { fields: { age: 1 } } });
  });

  test('A1 F5 an input that is no object and a goto to no node are 422 and name what is wanted; the thread stays as it was', async () => {
    const t = await made('no-start');
    await say(t, 'age 1 no-start');
    for (const [body, code, named] of [
      [{ input: 'str' }, 'invalid_input', 'a string'],
      [{ input: 7 }, 'invalid_input', 'a number'],
      [{ input: [1] }, 'invalid_input', 'an array'],
      [{ command: { goto: 'nobody' } }, 'unknown_node', 'no node "nobody"; it has model'],
      [{ command: { goto: [{ node: 'nobody' }] } }, 'unknown_node', 'no node "nobody"'],
    ] as const) {
      const refused = await s.post(`/v1/threads/${t}/turns`, body);
      expect([refused.status, refused.json.code]).toEqual([422, code]);
      expect(refused.json.detail).toContain(named);
    }
    expect((await update(t, { values: {}, as_node: 'nobody' })).json.detail).toContain(
      'no node "nobody"; it has model',
    );
    expect(await state(t)).toMatchObject({ version: 1, values: { fields: { age: 1 } } });
    expect((await say(t, 'on')).json.response).toBe('saw {"age":1}');
  });

  test('F5 a question stays open over an update', async () => {
    const t = await made('question', 'asking');
    expect((await say(t, 'go')).json.status).toBe('interrupted');
    const edited = await update(t, { values: { fields: { age: 6 } } });
    expect(edited.json).toMatchObject({ version: 2, status: 'interrupted' });
    const resumed = await s.post(`/v1/threads/${t}/turns`, { resume: 'yes' });
    expect(resumed.json.response).toBe('yes {"age":6}');
  });

  test('F6 reset-to brings an earlier version back, and later turns go on from there', async () => {
    const t = await made('back');
    for (const age of [1, 2, 3]) await say(t, `age ${age} back`);
    const ran = await runCli(['threads', 'reset-to', t, '--version', '1', '--url', s.url()]);
    expect(ran).toEqual({
      ...{ code: 0, stderr: '' },
      stdout: 'Thread back is at version 4, with the state of version 1.\n',
    });
    expect(await state(t)).toMatchObject({ version: 4, values: { fields: { age: 1 } } });
    expect((await say(t, 'then')).json.response).toBe('saw {"age":1}');
    expect((await reset(t, 9)).status).toBe(404);
    expect((await reset(t, 3)).json).toMatchObject({ version: 6, output: { fields: { age: 3 } } });
  });

  test.each(['before-commit', 'after-commit'] as const)(
    'F5 F6 C1 kill -9 at %s: an edit is made once, and the same key tells it',
    async (point) => {
      const t = await made(`dies-${point}`);
      await say(t, `age 1 ${point}`);
      const edits = [
        (headers: Headers) => update(t, { values: { fields: { age: 5 } } }, headers),
        (headers: Headers) => reset(t, 1, headers),
      ];
      for (const [i, edit] of edits.entries()) {
        const key = { 'idempotency-key': `once-${i}` };
        await s.arm(point, t);
        const asked = edit(key).catch(() => undefined);
        expect(await s.dead(point, t)).toBe('dev');
        await asked;
        const age = i === 0 ? 5 : 1;
        const told = { version: i + 2, output: { fields: { age } } };
        expect((await edit(key)).json).toMatchObject(told);
        expect(await state(t)).toMatchObject({ version: i + 2, values: { fields: { age } } });
      }
      expect((await say(t, 'on')).json.response).toBe('saw {"age":1}');
      expect(s.model.count(point)).toBe(1);
    },
  );
});
