/** Who asks, as the project's auth says, on its way to the nodes: it stands with the turn, so every attempt on any worker sees it. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { request, startProduct } from '../support/product.js';
import type { Answer, Product } from '../support/product.js';
import { until } from '../support/until.js';

let product: Product;
const gate = path.join(tmpdir(), `everthread-gate-${process.pid}`);
beforeAll(async () => {
  product = await startProduct({
    EVERTHREAD_CONFIG: path.resolve('test/projects/guarded/langgraph.json'),
    EVERTHREAD_THREAD_IDLE: '1s',
    GATE: gate,
    LOG_LEVEL: 'debug',
  });
});
afterAll(async () => {
  await product.stop();
  await rm(gate, { force: true });
});

const asker = 'zelda-wren';
const authorization = `Bearer token-of-${asker}`;
const say = (body: object, headers: Record<string, string> = {}): Promise<Answer> =>
  product.post('/v1/threads/journey/turns', body, { authorization, ...headers });
const look = (route: string): Promise<Answer> =>
  request(`${product.url}${route}`, { headers: { authorization } });

/** What a node of the graph has seen. */
const seenBy = (node: string): string => `${node} ${asker} ${asker} ${asker} chat`;

/** The Web UI's own look at the namespace. */
async function openRuns(): Promise<number> {
  const [ui = ''] = /(?<=Web UI +)http:\S+/.exec(product.proc().log()) ?? [];
  const query = encodeURIComponent("ExecutionStatus = 'Running'");
  const { json } = await request(`${ui}/api/v1/namespaces/default/workflows?query=${query}`, {});
  return ((json.executions ?? []) as unknown[]).length;
}

/** What Temporal keeps, read as bytes. */
async function temporalFiles(): Promise<string> {
  const names = (await readdir(product.data, { recursive: true })).filter((n) =>
    /temporal.*db/.test(n),
  );
  const texts = names.map((name) => readFile(path.join(product.data, name), 'latin1'));
  return (await Promise.all(texts)).join('');
}

test('A10 nodes see who asks after hibernation, after a death, and on another worker; no log and no history does', async () => {
  const asked = await say({ message: 'go', graph: 'passport' });
  expect(asked.json).toMatchObject({ status: 'interrupted', response: seenBy('before') });
  await until('the run to hibernate', async () => ((await openRuns()) === 0 ? true : undefined));

  const { headers } = await say({ resume: true }, { prefer: 'respond-async' });
  const place = headers.get('location') ?? '';
  await until('a worker to have it', async () =>
    (await look(place)).json.status === 'running' ? true : undefined,
  );
  const first = product.proc();
  await first.end('SIGKILL');
  await product.start();
  await writeFile(gate, '');
  const done = await until('the turn to end', async () => {
    const answer = await look(place);
    return ['pending', 'running'].includes(String(answer.json.status)) ? undefined : answer;
  });

  expect(done.json).toMatchObject({ status: 'committed', version: 2, response: seenBy('behind') });
  const { messages } = done.json.output as { messages: { content: string }[] };
  expect(messages.map(({ content }) => content)).toEqual([seenBy('ask'), seenBy('behind')]);
  await product.proc().end();
  const kept = await temporalFiles();
  expect([kept.includes('journey'), kept.includes(asker)]).toEqual([true, false]);
  expect(first.log() + product.proc().log()).not.toContain(asker);
});
