import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import path from 'node:path';
import { startProduct } from '../support/product.js';
import type { Product } from '../support/product.js';
import { until } from '../support/until.js';

let product: Product;
beforeAll(async () => {
  product = await startProduct({
    EVERTHREAD_CONFIG: path.resolve('test/fixtures/projects/isolated/langgraph.json'),
    EVERTHREAD_ISOLATION_THREADS: '2',
    EVERTHREAD_ISOLATION_MEMORY: '128',
  });
});
afterAll(() => product.stop());

const turn = (thread: string, graph: string) =>
  product.post(`/v1/threads/${thread}/turns`, { message: 'go', graph });
const begin = async (thread: string, graph: string): Promise<string> => {
  const route = `/v1/threads/${thread}/turns`;
  const asked = await product.post(route, { message: 'go', graph }, { prefer: 'respond-async' });
  expect(asked.status).toBe(202);
  return asked.headers.get('location') ?? '';
};
const running = (place: string) =>
  until('the turn to run', async () =>
    (await product.get(place)).json.status === 'running' ? true : undefined,
  );
const settled = (place: string) =>
  until('the turn to settle', async () => {
    const { json } = await product.get(place);
    return /pending|running/.test(String(json.status)) ? undefined : json;
  });

describe('graphs in threads', () => {
  test('C2 answer turns as inline ones do, turn after turn', async () => {
    for (const graph of ['fine', 'inline']) {
      expect((await turn(graph, graph)).json.response).toBe('fine 1');
      expect((await turn(graph, graph)).json).toMatchObject({ response: 'fine 3', version: 2 });
      const { json } = await product.get(`/v1/threads/${graph}/messages`);
      expect((json.messages as unknown[]).length).toBe(4);
    }
  });

  test('P3 an error keeps its status and its delay on the way out of the thread, and its words stay out of the log', async () => {
    expect((await turn('limited', 'limited')).json.response).toBe('let in');
    expect(product.proc().log()).toContain('model_rate_limited');
    expect(product.proc().log()).not.toContain('canary');
  });

  test.each(['exits', 'hungry', 'uncaught'])(
    'T2 %s: a graph that ends its thread fails its own turn; the process and other turns live on',
    async (graph) => {
      const failed = await turn(graph, graph);
      expect(failed.status).toBe(502);
      expect(failed.json).toMatchObject({ failure: 'node_error' });
      expect(product.proc().alive()).toBe(true);
      expect(product.proc().log()).toContain(`"graph":"${graph}"`);
      expect(product.proc().log()).not.toContain('canary');
      expect((await turn(`after-${graph}`, 'fine')).json.response).toBe('fine 1');
    },
  );

  test('P6 a cancel ends a node that never lets go: its thread is replaced, and the next turns run', async () => {
    const stuck = await Promise.all(['stuck-1', 'stuck-2'].map((t) => begin(t, 'forever')));
    await Promise.all(stuck.map(running));
    const waiting = turn('behind', 'fine');
    for (const place of stuck) {
      expect((await product.post(`${place}/cancel`, {})).json.status).toBe('cancelled');
    }
    expect((await waiting).json.response).toBe('fine 1');
    expect(product.proc().log()).toContain('held its thread');
    expect((await turn('stuck-1', 'fine')).status).toBe(409); // bound to its graph
  });

  test('P6 a turn that waits for a thread is cancelled in the queue, and the one behind it gets on', async () => {
    const stuck = await Promise.all(['full-1', 'full-2'].map((t) => begin(t, 'forever')));
    await Promise.all(stuck.map(running));
    const queued = await begin('queued', 'fine');
    await running(queued);
    expect((await product.post(`${queued}/cancel`, {})).json.status).toBe('cancelled');
    for (const place of stuck) await product.post(`${place}/cancel`, {});
    expect((await turn('next', 'fine')).json.response).toBe('fine 1');
  });

  test('a SIGTERM stops a turn at its next superstep border, and the next start goes on from there', async () => {
    const place = await begin('steps', 'steps');
    await running(place);
    await product.proc().end('SIGTERM');
    expect(product.proc().child.exitCode).toBe(0);
    await product.start();
    expect(await settled(place)).toMatchObject({ status: 'committed', response: 'three steps' });
  });
});
