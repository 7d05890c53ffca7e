/** A project's own store through the running product: inline and in a thread, across a kill, found by the project's own embeddings. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import path from 'node:path';
import { startProduct } from '../support/product.js';
import type { Product } from '../support/product.js';

let product: Product;
beforeAll(async () => {
  product = await startProduct({
    EVERTHREAD_CONFIG: path.resolve('test/fixtures/projects/stores/langgraph.json'),
    EVERTHREAD_ISOLATION_THREADS: '1',
  });
});
afterAll(() => product.stop());

const say = async (graph: string, thread: string, message: string): Promise<unknown> =>
  (await product.post(`/v1/threads/${thread}/turns`, { message, graph })).json.response;

test('M17 what a graph keeps in its store is there for other threads, graphs in threads, and after a kill', async () => {
  expect(await say('notes', 'a', 'note the oak is tall')).toBe('noted');
  expect(await say('isolated', 'b', 'note my cat purrs')).toBe('noted');
  for (const graph of ['notes', 'isolated']) {
    expect(await say(graph, `c-${graph}`, 'find oak tall')).toBe('the oak is tall');
    expect(await say(graph, `c-${graph}`, 'find cat purr')).toBe('my cat purrs');
    expect(await say(graph, `c-${graph}`, 'by b')).toBe('my cat purrs');
  }
  await product.proc().end('SIGKILL');
  await product.start();
  for (const graph of ['notes', 'isolated'])
    expect(await say(graph, `d-${graph}`, 'find oak tall')).toBe('the oak is tall');
  expect(await say('isolated', 'd-isolated', 'forget the oak is tall')).toBe('my cat purrs');
  expect(await say('notes', 'd-notes', 'by a')).toBe('nothing');
  expect(product.proc().log()).not.toContain('store');
});
