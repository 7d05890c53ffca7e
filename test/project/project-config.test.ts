import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readProjectConfig } from '../../engine/project/project-config.js';
import { applyProjectEnv } from '../../engine/project/project-env.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'everthread-project-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function read(content: unknown) {
  const file = path.join(folder, 'langgraph.json');
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  return readProjectConfig(file);
}
const graphs = { agent: './a.ts:graph' };

test.each([
  ['no JSON', '{', /cannot be read: .*JSON/],
  ['no graphs', {}, /graphs: /],
  ['empty graphs', { graphs: {} }, /graphs: names no graph/],
  ['a graph of the wrong type', { graphs: { agent: 7 } }, /graphs\.agent: /],
  [
    'Q1 a task queue without a name',
    { graphs: { agent: { path: './a.ts', task_queue: '' } } },
    /graphs\.agent.*/,
  ],
  ['A10 auth that names nothing to ask', { graphs, auth: {} }, /auth.path: names the file/],
  ['A10 auth with a typo', { graphs, auth: { paht: './a.ts' } }, /auth.path: names the file/],
  ['env as a list', { graphs, env: ['.env'] }, /env: must be the path of a file or an object/],
])('%s is refused with the file and the key', async (_, content, message) => {
  const refused = read(content);
  await expect(refused).rejects.toThrow(message);
  await expect(refused).rejects.toThrow(path.join(folder, 'langgraph.json'));
});

test('a file that is not there is named', async () => {
  await expect(readProjectConfig('/nowhere/langgraph.json')).rejects.toThrow(
    '/nowhere/langgraph.json cannot be read',
  );
});

test('paths, exports and order are read as the LangGraph CLI reads them', async () => {
  const config = await read({
    graphs: { b: './b.ts', a: { path: './x:y/a.mjs:made', description: 'A' }, c: 'C:\\c.ts:g' },
    image_distro: 'wolfi',
    auth: { path: './auth.ts:auth' },
    encryption: { path: './keys.ts' },
  });
  expect(Object.values(config.graphs)).toEqual([
    { name: 'b', file: './b.ts', exportName: 'default' },
    { name: 'a', file: './x:y/a.mjs', exportName: 'made', description: 'A' },
    { name: 'c', file: 'C:\\c.ts', exportName: 'g' },
  ]);
  expect(config).toMatchObject({ auth: { file: './auth.ts', exportName: 'auth' } });
  expect(config.warnings).toEqual([
    expect.stringMatching(/^langgraph.json: "encryption" has no effect here: threads are stored/),
  ]);
});

test('a misspelt option of a graph is named', async () => {
  const agent = { path: './a.ts', isolaton: 'thread', task_queue: 'gpu' };
  const { warnings } = await read({ graphs: { agent } });
  expect(warnings).toEqual([
    'langgraph.json: "graphs.agent.isolaton" is not known and has no effect.',
  ]);
});

test('threads expire by a strategy that is known, and by no other', async () => {
  const ttl = { strategy: 'delete', default_ttl: 90, sweep_interval_minutes: 2 };
  const known = await read({ graphs, checkpointer: { ttl } });
  expect(known).toMatchObject({
    threadTtl: { idleMs: 90 * 60_000, sweepEveryMs: 120_000 },
    warnings: [],
  });
  const other = await read({ graphs, checkpointer: { ttl: { ...ttl, strategy: 'keep_latest' } } });
  expect(other.threadTtl).toBeUndefined();
  expect(other.warnings).toEqual([expect.stringContaining('so they stay')]);
});

test("the process's own variables win, also empty ones; a missing file is a warning", async () => {
  await writeFile(path.join(folder, '.env'), 'A=file\nB="of file"\nC=file\n');
  const env = { A: 'process', C: '' };
  expect(await applyProjectEnv(await read({ graphs, env: '.env' }), env)).toEqual([]);
  expect(env).toEqual({ A: 'process', B: 'of file', C: '' });
  expect(await applyProjectEnv(await read({ graphs, env: '.gone' }), env)).toEqual([
    'langgraph.json: the env file .gone was not read (ENOENT).',
  ]);
  await applyProjectEnv(await read({ graphs, env: { D: 5 } }), env);
  expect(env).toMatchObject({ D: '5' });
});
