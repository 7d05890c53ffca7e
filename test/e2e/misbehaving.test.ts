import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import path from 'node:path';
import { startProduct } from '../support/product.js';
import type { Product } from '../support/product.js';
import { until } from '../support/until.js';

let product: Product;
beforeAll(async () => {
  const EVERTHREAD_CONFIG = path.resolve('test/fixtures/projects/misbehaving/langgraph.json');
  product = await startProduct({ EVERTHREAD_CONFIG });
});
afterAll(() => product.stop());

const turn = (thread: string, graph: string) =>
  product.post(`/v1/threads/${thread}/turns`, { message: 'go', graph });

describe('graphs that misbehave harm their own turn only', () => {
  test.each([
    ['fn', 'in the state'],
    ['inMessage', 'inside a message of the last superstep'],
    ['early', 'inside a message of an earlier superstep'],
  ])(
    'C5 a value that nothing can write (%s, %s) fails the turn at its first try, and the thread stays readable',
    async (graph) => {
      const failed = await turn(graph, graph);
      expect(failed.status).toBe(502);
      expect(failed.json).toMatchObject({ failure: 'unstorable' });
      expect(product.proc().log()).not.toContain('runTurn broke');
      expect((await product.get(`/v1/threads/${graph}/state`)).status).toBe(200);
      expect((await product.get(`/v1/threads/${graph}`)).json).toMatchObject({ version: 0 });
    },
  );

  test('T2 an exception that a node throws where nobody catches it fails its turn and ends no process', async () => {
    const { child } = product.proc();
    const failed = await turn('uncaught', 'uncaught');
    expect(failed.status).toBe(502);
    expect(failed.json).toMatchObject({ failure: 'node_error' });
    expect(product.proc().child).toBe(child);
    expect(product.proc().alive()).toBe(true);
    // Each try is one line that says whose it was and why, and none of its words (A6).
    const log = product.proc().log();
    expect(log).toMatch(
      /a try failed .*"thread":"uncaught","turn":"[0-9a-f-]{36}","graph":"uncaught","attempt":2,"code":"node_error"/,
    );
    expect(log).not.toMatch(/canary|Activity failed/);
    expect((await turn('other', 'fine')).json.response).toBe('fine 1');
  });

  test('an update that the state does not take is not tried again', async () => {
    const failed = await turn('wrong', 'wrong');
    expect(failed.json).toMatchObject({ code: 'turn_failed', failure: 'node_error' });
    expect(failed.text).toContain('update');
  });

  test('T2 a node that does not let go does not keep a stop from ending cleanly', async () => {
    const asked = await product.post(
      '/v1/threads/never/turns',
      { message: 'go', graph: 'never' },
      { prefer: 'respond-async' },
    );
    const place = asked.headers.get('location') ?? '';
    await until('the turn to run', async () =>
      (await product.get(place)).json.status === 'running' ? true : undefined,
    );
    await product.proc().end('SIGTERM');
    expect(product.proc().child.exitCode).toBe(0);
    await product.start();
    expect((await product.get(place)).json.status).toMatch(/pending|running/);
    expect((await product.post(`${place}/cancel`, {})).status).toBe(200);
  });
});
