/** Deploys that change a graph under threads that wait in it, on the running product (V5). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runCli } from '../cli/run-cli.js';
import { startProduct } from '../support/product.js';
import type { Answer, Product } from '../support/product.js';

/** `before` has a node more, which asks; and `after` calls one of its channels by another name. */
const graphs = {
  before: `
    .addNode('draft', (s) => ({ note: 'from ' + s.from, seen: ['draft'] }))
    .addNode('review', () => ({ seen: ['review ' + interrupt('ok?')] }))
    .addNode('finish', (s) => ({ seen: ['finish ' + s.note] }))
    .addEdge('draft', 'review').addEdge('review', 'finish')`,
  after: `
    .addNode('draft', (s) => ({ seen: ['draft ' + s.remark] }))
    .addNode('finish', (s) => ({ seen: ['finish ' + s.remark] }))
    .addEdge('draft', 'finish')`,
};
const source = (which: keyof typeof graphs): string => `
import { Annotation, END, interrupt, START, StateGraph } from '@langchain/langgraph';
const state = Annotation.Root({
  from: Annotation(), ${which === 'before' ? 'note' : 'remark'}: Annotation(),
  seen: Annotation({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});
export const graph = new StateGraph(state)${graphs[which]}
  .addEdge(START, 'draft').addEdge('finish', END).compile();
`;

let folder: string;
let s: Product;
const write = (which: keyof typeof graphs) =>
  writeFile(path.join(folder, 'graph.mjs'), source(which));
/** The process ends, the new code comes, and it starts again. */
async function deploy(which: keyof typeof graphs): Promise<void> {
  await s.proc().end();
  await write(which);
  await s.start();
}
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'everthread-changes-'));
  const config = path.join(folder, 'langgraph.json');
  await symlink(path.resolve('node_modules'), path.join(folder, 'node_modules'));
  await writeFile(config, JSON.stringify({ graphs: { papers: './graph.mjs:graph' } }));
  await write('before');
  s = await startProduct({ EVERTHREAD_CONFIG: config });
});
afterAll(async () => {
  await s.stop();
  await rm(folder, { recursive: true, force: true });
});

const turn = (thread: string, body: unknown, key?: string): Promise<Answer> =>
  s.post(`/v1/threads/${thread}/turns`, body, key === undefined ? {} : { 'idempotency-key': key });
const run = (thread: string, from: string) => turn(thread, { input: { from } });
const state = async (thread: string) => (await s.get(`/v1/threads/${thread}/state`)).json;

describe('a deploy that takes a node away and renames a channel', () => {
  test('V5 P11 a waiting thread stays readable, its answer is refused and not swallowed, and it goes on by a reset, an update, a message or a rollback', async () => {
    for (const thread of ['answered', 'rolled-back', 'reset', 'updated', 'left']) {
      if (thread === 'reset') {
        await run(thread, 'one');
        expect((await turn(thread, { resume: 'yes' })).json.status).toBe('committed');
      }
      expect((await run(thread, 'two')).json).toMatchObject({ status: 'interrupted' });
    }
    const before = await state('answered');
    expect(before).toMatchObject({ next: ['review'], values: { note: 'from two' } });

    await deploy('after');
    expect(await state('answered')).toMatchObject({ version: 1, next: ['review'] });
    const refused = await turn('answered', { resume: 'yes' }, 'k');
    expect(refused).toMatchObject({ status: 502, json: { code: 'turn_failed' } });
    expect(refused.text).toContain('no node review any more');
    expect(await state('answered')).toMatchObject({ version: 1, next: ['review'] });

    const went = await runCli(['threads', 'reset-to', 'reset', '--version', '2', '--url', s.url]);
    expect(went).toMatchObject({
      code: 0,
      stdout: 'Thread reset is at version 4, with the state of version 2.\n',
    });
    expect(await state('reset')).toMatchObject({ version: 4, next: [] });
    expect((await run('reset', 'three')).json).toMatchObject({ status: 'committed', version: 5 });

    const edit = { values: null, as_node: '__end__' };
    expect((await s.post('/v1/threads/updated/state', edit)).json.status).toBe('committed');
    // Whoever says something else leaves the question behind; the renamed channel begins empty.
    expect((await run('left', 'four')).json).toMatchObject({
      status: 'committed',
      output: { seen: ['draft', 'draft undefined', 'finish undefined'] },
    });

    await deploy('before');
    expect(await state('answered')).toEqual(before);
    expect((await turn('answered', { resume: 'yes' }, 'k')).json).toMatchObject({
      status: 'committed',
      output: { seen: ['draft', 'review yes', 'finish from two'] },
    });
    expect((await turn('rolled-back', { resume: 'yes' })).json.status).toBe('committed');
  }, 300_000);
});
