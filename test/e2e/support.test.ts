/** The graphs that ship, without any key: `support` and `intake` in one process. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { request, startProduct } from '../support/product.js';
import type { Answer, Product } from '../support/product.js';

let product: Product;
beforeAll(async () => {
  product = await startProduct({ EVERTHREAD_MODEL: 'builtin' });
});
afterAll(() => product.stop());

const resumeQuestion = 'How do I resume a stream after my connection drops?';

const ask = (message: string, thread?: string, headers: Record<string, string> = {}) =>
  product.post('/v1/support/chat', { message, ...(thread && { thread_id: thread }) }, headers);
const messagesOf = async (thread: string) =>
  (await product.get(`/v1/threads/${thread}/messages`)).json.messages as {
    role: string;
    content: string;
  }[];
const codes = (answers: readonly Answer[]) => answers.map((a) => [a.status, a.json.code]);

describe('POST /v1/support/chat', () => {
  test('U1 U4 the process dies between question and answer: the answer is understood all the same', async () => {
    const asked = await ask('help');
    expect(asked.json).toMatchObject({
      ...{ category: 'unclear', clarification_needed: true, memory_updated: false, sources: [] },
      ...{ answer: expect.stringContaining('?'), turn_id: expect.any(String) },
    });
    const thread = String(asked.json.thread_id);
    await product.proc().end('SIGKILL');
    await product.start();
    const crashes = await ask('the second one', thread);
    expect(crashes.json).toMatchObject({
      ...{ thread_id: thread, category: 'crashes', clarification_needed: false },
      sources: [{ source: 'crashes.md', heading: 'What survives a crash' }],
    });
    const next = await ask(resumeQuestion, thread);
    expect(next.json.answer).toMatch(/Last-Event-ID/);
    expect((await messagesOf(thread)).map((m) => m.role)).toEqual(
      Array.from({ length: 6 }, (_, i) => (i % 2 === 0 ? 'user' : 'assistant')),
    );
    const turn = await product.get(`/v1/threads/${thread}/turns/${String(next.json.turn_id)}`);
    expect(turn.json).toMatchObject({ status: 'committed', output: { category: 'streaming' } });
  });

  test('U4 A2 the same key is the same turn and the same bytes, its thread too', async () => {
    const key = { 'idempotency-key': 'support-1' };
    const [first, second] = [await ask('help', undefined, key), await ask('help', undefined, key)];
    expect(second.text).toBe(first.text);
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    const thread = String(first.json.thread_id);
    const other = await ask('hello', undefined, key);
    expect(codes([other])).toEqual([[409, 'idempotency_key_reused']]);
    expect(await messagesOf(thread)).toHaveLength(2);
    // The turn after a replay is the answer to the question, not another question.
    expect((await ask('help', thread)).json.clarification_needed).toBe(false);
    expect((await ask('help', undefined, key)).text).toBe(first.text);
  });

  test('U1 U4 many threads at once: each remembers its own question', async () => {
    const talk = async (i: number) => {
      const thread = `many-${i}`;
      const answers = [await ask('ayuda', thread), await ask(String((i % 3) + 1), thread)];
      return answers.map(({ json }) => [json.category, json.clarification_needed]);
    };
    const chosen = ['agents', 'crashes', 'deletion'];
    const talks = await Promise.all(Array.from({ length: 6 }, (_, i) => talk(i)));
    expect(talks).toEqual(
      talks.map((_, i) => [
        ['unclear', true],
        [chosen[i % 3], false],
      ]),
    );
  });

  test('U4 turns of one thread sent at once are answered in their order', async () => {
    const answers = await Promise.all(Array.from({ length: 4 }, () => ask('help', 'in-order')));
    const said = await messagesOf('in-order');
    expect(said).toHaveLength(8);
    const asking = said.filter((m) => m.role === 'assistant').map((m) => m.content.includes('?'));
    expect(asking).toEqual([true, false, true, false]);
    expect(answers.filter((a) => a.json.clarification_needed)).toHaveLength(2);
  });

  test('U4 T4 a thread of another graph is refused, and a support thread is no other', async () => {
    await product.chat('assistant-thread', 'hi');
    const refused = await ask('help', 'assistant-thread');
    await ask('help', 'support-thread');
    const back = await product.post('/v1/chat', {
      ...{ message: 'hi', thread_id: 'support-thread', graph: 'intake' },
    });
    expect(codes([refused, back])).toEqual([
      [409, 'graph_mismatch'],
      [409, 'graph_mismatch'],
    ]);
    expect(await messagesOf('assistant-thread')).toHaveLength(2);
  });

  test('A1 the body is strict', async () => {
    const post = (body: unknown) => product.post('/v1/support/chat', body);
    const answers = await Promise.all([
      ...[post({}), post({ message: '  ' }), post({ message: 'x', graph: 'agent' })],
      ...[post({ message: 'x', thread_id: 'a b' }), post({ message: 'x', user_id: '' })],
    ]);
    expect(codes(answers)).toEqual(answers.map(() => [400, 'invalid_request']));
    const two = await product.post(
      '/v1/support/chat',
      { message: 'x', thread_id: 'one' },
      { 'x-thread-id': 'two' },
    );
    expect(codes([two])).toEqual([[400, 'thread_id_mismatch']]);
  });

  test('U4 a stream ends with the turn, its category beside it', async () => {
    const stream = await ask(resumeQuestion, undefined, { accept: 'text/event-stream' });
    expect(stream.text).toMatch(/^event: accepted\n/m);
    const done = /^event: done\n(?:id: .*\n)?data: (.*)$/m.exec(stream.text)?.[1] ?? '{}';
    expect(JSON.parse(done)).toMatchObject({
      response: expect.stringMatching(/Last-Event-ID/),
      output: { category: 'streaming', clarification_needed: false },
    });
  });

  test('U5 memory_updated tells the truth', async () => {
    const note = 'Please remember that I prefer short answers.';
    const tell = (body: object) => product.post('/v1/support/chat', { message: note, ...body });
    expect((await tell({})).json.memory_updated).toBe(false);
    expect((await tell({ user_id: 'u-support', thread_id: 'mem' })).json.memory_updated).toBe(true);
    const nothing = await product.post('/v1/support/chat', {
      ...{ message: 'help', user_id: 'u-support', thread_id: 'mem' },
    });
    expect(nothing.json.memory_updated).toBe(false);
    const memory = await product.get('/v1/users/u-support/memory');
    expect(memory.text).toMatch(/short answers/);
  });

  test('T5 a deleted thread has forgotten what it asked', async () => {
    await ask('help', 'forgotten');
    await request(`${product.url}/v1/threads/forgotten`, { method: 'DELETE' });
    expect((await ask('help', 'forgotten')).json.clarification_needed).toBe(true);
  });
});

describe('intake', () => {
  const write = (name: string, value: unknown): Promise<Answer> =>
    request(`${product.url}/v1/threads/form/fields/${name}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ value }),
    });
  const tell = async (message: string): Promise<Record<string, unknown>> => {
    const { json } = await product.post('/v1/threads/form/turns', { message });
    return { ...(json.output as object), response: json.response };
  };

  test('F1 F2 it asks for what is missing, takes what is said and what is written, and is complete when confirmed', async () => {
    await product.post('/v1/threads', { thread_id: 'form', graph: 'intake' });
    expect((await write('email', 'nobody')).json.code).toBe('invalid_field');
    expect((await write('email', 'dana@example.org')).status).toBe(200);
    const first = await tell('Hello, my name is Dana Kim and my company is Acme');
    expect(first.fields).toEqual({ company: 'Acme', email: 'dana@example.org', name: 'Dana Kim' });
    expect(first.response).toMatch(/what is it about\?/i);
    expect((await tell('A refund for order 12')).response).toMatch(/phone/i);
    expect((await tell('skip')).response).toMatch(/is that right\?/i);
    expect(await tell('yes')).toMatchObject({ is_completed: true });
    expect((await write('name', 'Dana Lee')).json.fields).toMatchObject({ name: 'Dana Lee' });
    expect((await write('phone', '+49 30 901820')).json.fields).toMatchObject({
      phone: '+4930901820',
    });
  });
});
