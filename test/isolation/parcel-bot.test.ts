import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { arrivals, inTime } from '../support/arrivals.js';
import { startProduct } from '../support/product.js';
import type { Product } from '../support/product.js';
import { until } from '../support/until.js';

/** The example beside graphs that hold their thread without a model; inside the checkout, where the packages are found. */
let folder: string;
let product: Product;
beforeAll(async () => {
  folder = await mkdtemp(path.resolve('.cache/parcel-bot-'));
  await cp('examples/parcel-bot', folder, { recursive: true });
  await cp('test/fixtures/projects/isolated/graphs.mjs', path.join(folder, 'other.mjs'));
  const graphs = {
    blocking: { path: './graphs.ts:blocking', isolation: 'thread' },
    async: './graphs.ts:waiting',
    written: { path: './other.mjs:written', isolation: 'thread' },
    holds: './other.mjs:holds',
  };
  await writeFile(path.join(folder, 'langgraph.json'), JSON.stringify({ graphs }));
  const EVERTHREAD_CONFIG = path.join(folder, 'langgraph.json');
  product = await startProduct({ EVERTHREAD_CONFIG, EVERTHREAD_ISOLATION_THREADS: '1' });
});
afterAll(async () => {
  await product.stop();
  await rm(folder, { recursive: true, force: true });
});

/** A busy machine delays some tokens; a stream in one lump has none that came in time. */
const half = (tokens: number): number => Math.floor(tokens / 2);

test.each([
  ['blocking', 'chunked'],
  ['async', 'chunked'],
  ['written', 'chunked'],
  ['blocking', 'unchunked'],
] as const)(
  'S1 %s, %s: a token is at the client before the next one is made',
  async (graph, wire) => {
    const all = await arrivals(product.url, `one-${graph}-${wire}`, graph, wire);
    expect(all.length).toBe(graph === 'written' ? 4 : 10);
    expect(inTime(all)).toBeGreaterThanOrEqual(half(all.length - 1));
  },
);

test('S1 a node that holds its thread does not hold the tokens of another thread', async () => {
  const [blocking, waiting] = await Promise.all(
    ['blocking', 'async'].map((graph) => arrivals(product.url, `beside-${graph}`, graph)),
  );
  for (const all of [blocking, waiting]) {
    expect(inTime(all ?? [])).toBeGreaterThanOrEqual(half((all?.length ?? 0) - 1));
  }
});

test('a node that holds the event loop of its process is named in the log', async () => {
  const held = await product.post('/v1/threads/holds/turns', { message: 'go', graph: 'holds' });
  expect(held.json.response).toBe('held');
  const line = /a node held the event loop.*"graph":"holds","nodes":\["node"\],"ms":\d{3,}/;
  await until('the line', () =>
    Promise.resolve(line.test(product.proc().log()) ? true : undefined),
  );
});
