/** Numbers that are read for a page, and not counted: they stand on the page that asked for them. */
import { expect, test } from '@jest/globals';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startMetrics } from '../../metrics/start.js';
import { openDatabase } from '../support/database.js';
import { Scenario } from '../support/storage-scenario.js';
import { until } from '../support/until.js';

const here = { host: '127.0.0.1', port: 0 };
const noSdk = '127.0.0.1:1';
const pageOf = async ({ url = '' }: { readonly url: string | undefined }): Promise<string> =>
  await (await fetch(url)).text();

test('O9 the age of the oldest open turn stands on every page, and is gone with the turn', async () => {
  const { storage, close } = await openDatabase('memory');
  const metrics = await startMetrics(here, noSdk);
  metrics.countOpenTurns(storage.turns);
  const scenario = new Scenario(storage);
  const turn = await scenario.turn();
  for (let scrape = 0; scrape < 2; scrape += 1) {
    const page = await pageOf(metrics);
    expect(page).toMatch(/^everthread_open_turns\{graph="agent",status="pending"\} 1$/m);
    expect(page).toMatch(
      /^everthread_oldest_open_turn_seconds\{graph="agent",status="pending"\} /m,
    );
  }
  await storage.turns.cancel(scenario.thread, turn.turnId);
  expect(await pageOf(metrics)).not.toMatch(/^everthread_(open|oldest_open)_turns?\w*\{/m);
  await metrics.close();
  await close();
});

test('O9 requests and streams that are open stand on the page that asks, not on the next one', async () => {
  const metrics = await startMetrics(here, noSdk);
  const open: ServerResponse[] = [];
  const app: RequestListener = (req, res) => {
    if (req.url === '/stream') res.setHeader('content-type', 'text/event-stream').flushHeaders();
    open.push(res);
  };
  const server = createServer(metrics.requests(app)).listen(0, '127.0.0.1');
  await until('the server', () => server.address() ?? undefined);
  const { port } = server.address() as AddressInfo;
  const asked = ['stream', 'plain'].map((name) => fetch(`http://127.0.0.1:${port}/${name}`));
  await until('both requests', () => (open.length === 2 ? true : undefined));
  const page = await pageOf(metrics);
  expect(page).toMatch(/^everthread_open_streams 1$/m);
  expect(page).toMatch(/^everthread_open_requests 1$/m);
  for (const res of open) res.end();
  for (const answer of asked) await (await answer).text();
  await metrics.close();
  server.close();
});
