/** What a langgraph.json gives a short life: the running worker deletes it, and what comes later begins anew. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import path from 'node:path';
import { startProduct } from '../support/product.js';
import type { Answer, Product } from '../support/product.js';
import { until } from '../support/until.js';
import { openSqlite } from '../../storage/sqlite-library.js';

let product: Product;
beforeAll(async () => {
  product = await startProduct({
    EVERTHREAD_CONFIG: path.resolve('test/fixtures/projects/stores/short-lived.json'),
    LOG_LEVEL: 'info',
  });
});
afterAll(() => product.stop());

const say = (message: string): Promise<Answer> =>
  product.post('/v1/threads/brief/turns', { message });

const tables = ['et_checkpoints', 'et_deltas', 'et_writes', 'et_store_items', 'et_store_vectors'];
/** Rows of threads and of items that the database holds. */
function rows(): number {
  const db = openSqlite(path.join(product.data, 'everthread.db'), { timeout: 5_000 });
  try {
    const count = (table: string) => db.prepare(`SELECT count(*) FROM ${table}`).pluck().get();
    return tables.reduce((sum, table) => sum + Number(count(table)), 0);
  } finally {
    db.close();
  }
}

test('O11 M17 a thread that has rested for its ttl is deleted by the worker, items of the store with it; the next turn begins anew', async () => {
  expect((await say('note the oak is tall')).json).toMatchObject({
    ...{ response: 'noted', epoch: 1, version: 1 },
  });
  await until('the thread to be deleted', async () =>
    (await product.get('/v1/threads/brief')).status === 404 ? true : undefined,
  );
  await until('every row to be gone', () => (rows() === 0 ? true : undefined));
  expect(product.proc().log()).toContain('deleted threads whose time was over');
  expect((await say('find oak')).json).toMatchObject({
    ...{ response: 'nothing', seq: 2, epoch: 2, version: 1 },
  });
});
