import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { startProduct, type Answer, type Product } from '../support/product.js';
import { until } from '../support/until.js';

let folder: string;
let product: Product;

beforeAll(async () => {
  // Below our tree, so that LangGraph is found; a copy, since files of it are edited.
  await mkdir('.cache', { recursive: true });
  folder = await mkdtemp(path.resolve('.cache/features-'));
  await cp('test/projects/features', folder, { recursive: true });
  const EVERTHREAD_CONFIG = path.join(folder, 'langgraph.json');
  product = await startProduct({ EVERTHREAD_CONFIG, LOG_LEVEL: 'info' });
});
afterAll(async () => {
  await product.stop();
  await rm(folder, { recursive: true, force: true });
});

type Body = Record<string, unknown>;

const turn = (thread: string, body: Body, headers: Record<string, string> = {}): Promise<Answer> =>
  product.post(`/v1/threads/${thread}/turns`, body, headers);

const output = ({ json }: Answer): Body => json.output as Body;

describe('what a run is given', () => {
  test('a node sees the keys of the platform, the caller, and its headers without secrets', async () => {
    const answer = await turn(
      'sees',
      {
        ...{ graph: 'sees', input: { seen: {} }, context: { language: 'de' } },
        config: {
          configurable: { flavor: 'sweet' },
          ...{ tags: ['caller'], metadata: { from: 'test' }, recursion_limit: 7 },
        },
      },
      { 'x-request-id': 'r-1', 'x-api-key': 'secret' },
    );
    expect(answer.status).toBe(200);
    const { turn_id: turnId } = answer.json;
    expect(output(answer).seen).toMatchObject({
      configurable: {
        ...{ thread_id: 'sees', run_id: turnId, graph_id: 'sees', assistant_id: 'sees' },
        ...{ flavor: 'sweet', 'x-request-id': 'r-1' },
      },
      metadata: { run_id: turnId, graph_id: 'sees', from: 'test', langgraph_node: 'look' },
      ...{ tags: ['caller'], recursionLimit: 7, context: { language: 'de' } },
      ...{ signal: true, writer: 'function', env: 'yes', cwd: folder },
    });
    expect(answer.text).not.toContain('secret');
  });

  test('keys that the platform sets are refused, and a limit that is none', async () => {
    for (const config of [
      { configurable: { thread_id: 'other' } },
      { configurable: { __pregel_checkpointer: {} } },
      { recursion_limit: 0 },
    ])
      expect((await turn('refused', { graph: 'sees', input: {}, config })).status).toBe(400);
  });

  test('a factory is asked for each run, with the keys of its caller', async () => {
    const ask = (flavor: string) =>
      turn('factory', {
        ...{ graph: 'factory', input: { made: '' } },
        config: { configurable: { flavor } },
      });
    expect(output(await ask('sweet'))).toEqual({ made: 'sweet 1', messages: [] });
    expect(output(await ask('sour'))).toEqual({ made: 'sour 2', messages: [] });
  });
});

describe('people in the loop', () => {
  test('two open questions are answered one at a time, by their ids', async () => {
    const asked = await turn('both', { graph: 'questions', message: 'go' });
    const interrupts = asked.json.interrupts as { id: string; value: { what: string } }[];
    expect(interrupts.map(({ value }) => value.what).sort()).toEqual(['color', 'size']);
    const idOf = (what: string): string => interrupts.find((i) => i.value.what === what)!.id;
    await product.proc().end();
    await product.start();
    const half = await turn('both', { resume: { [idOf('color')]: 'red' } });
    expect(half.json).toMatchObject({
      status: 'interrupted',
      interrupts: [{ id: idOf('size'), value: { what: 'size' } }],
    });
    const whole = await turn('both', { resume: { [idOf('size')]: 'XL' } });
    expect(whole.json).toMatchObject({ status: 'committed', response: 'color: red, size: XL' });
  });

  test('a run may have breakpoints of its own, passed by a resume that has others', async () => {
    const first = await turn('steps', { graph: 'steps', message: 'go', interrupt_before: ['two'] });
    expect(first.json).toMatchObject({ status: 'interrupted', response: 'one' });
    const second = await turn('steps', { resume: null, interrupt_after: ['two'] });
    expect(second.json).toMatchObject({ status: 'interrupted', response: 'two' });
    expect((await turn('steps', { resume: null })).json).toMatchObject({
      ...{ status: 'committed', response: 'three' },
    });
  });

  test('a command writes to the state and says what runs, with a resume and without', async () => {
    const jump = await turn('jump', {
      graph: 'steps',
      command: { update: { note: 'updated' }, goto: 'three' },
    });
    expect(jump.json).toMatchObject({ status: 'committed', response: 'three (updated)' });
    await turn('stop', { graph: 'steps', message: 'go', interrupt_before: ['two'] });
    const skipped = await turn('stop', {
      command: { resume: null, update: { note: 'skipped' }, goto: 'three' },
    });
    expect(skipped.json).toMatchObject({ status: 'committed' });
    expect(skipped.text).toContain('three (skipped)');
    const none = await turn('nothing', { graph: 'steps', command: { resume: 'too late' } });
    expect(none).toMatchObject({ status: 409, json: { code: 'resume_stale' } });
  });
});

test('a fork goes on from an earlier version, and what came after it stays in the history', async () => {
  const say = (message: string, more: Body = {}) =>
    turn('fork', { graph: 'steps', message, ...more });
  await say('one');
  await say('two');
  const forked = await say('three', { from_version: 1 });
  expect(forked.json).toMatchObject({ status: 'committed', version: 3, base_version: 2 });
  await say('four');
  const { json } = await product.get('/v1/threads/fork/state');
  const { messages } = json.values as { messages: { role: string; content: string }[] };
  expect(messages.filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual([
    ...['one', 'three', 'four'],
  ]);
  const again = await say('five', { from_version: 2 });
  expect(again.json).toMatchObject({ status: 'committed', version: 5 });
  const after = (await product.get('/v1/threads/fork/state')).text;
  expect(['one', 'two', 'five'].every((text) => after.includes(`"${text}"`))).toBe(true);
  expect(after).not.toContain('"four"');
  const gone = await say('six', { from_version: 99 });
  expect(gone).toMatchObject({ status: 409, json: { code: 'base_changed' } });
  expect(gone.json.detail).toMatch(/no version 99 to go on from: it is at version 5/);
});

test('A1 a fork of a version that was never there makes no thread', async () => {
  const fork = await turn('unborn', { graph: 'steps', message: 'x', from_version: 3 });
  expect(fork).toMatchObject({ status: 409, json: { code: 'base_changed', version: 0 } });
  expect((await product.get('/v1/threads/unborn')).status).toBe(404);
});

test('F7 C2 turns after a fork that wrote nothing leave what is left behind as it was', async () => {
  const say = (body: Body) => turn('behind', { graph: 'questions', ...body });
  const valuesOf = async (version: number) => {
    expect((await product.post('/v1/threads/behind/reset', { version })).status).toBe(200);
    return (await product.get('/v1/threads/behind/state')).json.values;
  };
  const { json } = await say({ message: 'go' });
  const [one, two] = (json.interrupts as { id: string }[]).map(({ id }) => id);
  const before = new Map<number, unknown>();
  const keep = async (version: number) => {
    before.set(version, (await product.get('/v1/threads/behind/state')).json.values);
  };
  await say({ resume: { [one!]: 'A', [two!]: 'B' } });
  await keep(2);
  await say({ message: 'more' });
  await keep(3);
  const half = await say({ resume: { [one!]: 'other' }, from_version: 1 });
  expect(half.json).toMatchObject({ status: 'interrupted', version: 4 });
  await say({ resume: { [two!]: 'one' } });
  await keep(5);
  await say({ message: 'third' });
  await keep(6);
  for (const [version, values] of before) expect(await valuesOf(version)).toEqual(values);
});

describe('graphs that misbehave', () => {
  test('what does not load is named with file and cause, and the others serve', () => {
    expect(product.proc().log()).toMatch(/"broken" \(.\/src\/broken.ts.*cannot reach the other/);
    expect(product.proc().log()).toMatch(/"leaves" \(.\/src\/leaves.ts.*called process.exit\(1\)/);
    expect(product.proc().log()).toContain('"something_new" is not known');
  });

  test('a node that ends the process ends its turn alone, and the log names its graph', async () => {
    const answer = await turn('exits', { graph: 'exits', message: 'go' });
    expect(answer).toMatchObject({ status: 502, json: { failure: 'node_error' } });
    expect(product.proc().log()).toMatch(/a try failed .*"graph":"exits"[^]*"ProcessExit"/);
    expect(product.proc().alive()).toBe(true);
  });

  test('a promise that nobody awaits is logged with its graph, and the turn goes on', async () => {
    const answer = await turn('rejects', { graph: 'rejects', message: 'go' });
    expect(answer.json.response).toBe('went on');
    const logged = await until('the log', () =>
      product
        .proc()
        .log()
        .split('\n')
        .find((line) => line.includes('nobody awaited this')),
    );
    expect(logged).toContain('rejects');
  });
});

test('a saved file is served from the next turn on, and a running turn ends on the old one', async () => {
  const say = (thread: string, message: string) => turn(thread, { graph: 'edited', message });
  expect((await say('edited', 'hello')).json.response).toBe('first');
  const running = say('running', 'wait');
  const word = path.join(folder, 'src/words.ts');
  await writeFile(word, `export const word = 'second';\n`);
  await until('the new code', async () =>
    (await say('edited', 'hello')).json.response === 'second' ? true : undefined,
  );
  expect((await running).json.response).toBe('first');
  await writeFile(word, 'export const word = ;\n');
  await until('the refusal', () =>
    product.proc().log().includes('The graph is served as it was') ? true : undefined,
  );
  expect((await say('edited', 'hello')).json.response).toBe('second');
});
