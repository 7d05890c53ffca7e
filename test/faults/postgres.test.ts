/** PostgreSQL goes away under turns and comes back: nothing acknowledged is lost, no reply is paid twice, no process ends. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { cuttingProxy } from '../support/cutting-proxy.js';
import type { CuttingProxy } from '../support/cutting-proxy.js';
import { startPostgres } from '../support/postgres-server.mjs';
import type { PostgresServer } from '../support/postgres-server.mjs';
import type { Proc } from '../support/processes.js';
import { startTestTemporal } from '../support/temporal-server.js';
import type { TestTemporal } from '../support/temporal-server.js';
import { until } from '../support/until.js';
import { workflowIdOf } from '../../contracts/protocol.js';
import { connectTemporal } from '../../temporal/connection.js';
import type { TemporalConnection } from '../../temporal/connection.js';
import { installRuntime } from '../../temporal/runtime.js';
import { onPostgres } from '../support/database.js';
import { allSettled, brokenRules, startFleet } from './fleet.js';
import type { Fleet, GatewayProc } from './fleet.js';

/** A worker that does not heartbeat for this long is lost (DESIGN 9). */
const heartbeatTimeoutMs = 5_000;
/** Longer runs for a person who has time: `EVERTHREAD_TEST_LONG=1`. */
const long = process.env.EVERTHREAD_TEST_LONG !== undefined;

let postgres: PostgresServer;
let temporal: TestTemporal;
let proxy: CuttingProxy;
let fleet: Fleet;
let gateway: GatewayProc;
let workers: Proc[];
let url: string;
beforeAll(async () => {
  [postgres, temporal] = await Promise.all([startPostgres(), startTestTemporal()]);
  url = `${postgres.url}/postgres`;
  proxy = await cuttingProxy(url);
  fleet = await startFleet({ postgresUrl: proxy.url, temporalAddress: temporal.address });
  await fleet.migrate();
  let rest: Proc[];
  [gateway, ...rest] = await Promise.all([fleet.gateway(), fleet.worker(), fleet.worker()]);
  workers = rest;
});
afterAll(async () => {
  await fleet.stop();
  await proxy.close();
  await temporal.stop();
  await postgres.stop();
});

const everybodyLives = (): void => {
  for (const proc of [gateway, ...workers]) expect(proc.alive()).toBe(true);
};
const readiness = async (): Promise<number> => (await gateway.get('/readyz')).status;

describe('PostgreSQL stops and starts again', () => {
  test.each([
    ['fast', 'SIGINT', 0],
    ['immediate', 'SIGQUIT', heartbeatTimeoutMs + 1_000],
  ] as const)(
    'A3 T2 a %s stop in the middle of turns: 503 while it is down, every accepted turn commits after, no model call twice',
    async (how, signal, downMs) => {
      const threads = ['a', 'b', 'c', 'd'].map((name) => `${how}-${name}`);
      const ids = await Promise.all(
        threads.map((thread) => gateway.accept(thread, `delay=700 ${thread} one`)),
      );
      await Promise.all(threads.map((thread) => gateway.accept(thread, `${thread} two`)));
      const waiting = gateway.chat(`${how}-e`, `delay=700 ${how}-e one`);
      await fleet.model.until(() => fleet.model.count(`${how}-`) === 5);
      await postgres.halt(signal);
      const downAt = performance.now();
      // Their models answer into the outage.
      await fleet.model.until(() => fleet.model.calls.every((call) => call.answered));
      const refused = await gateway.chat(`${how}-f`, 'nobody takes this');
      expect(refused.status).toBe(503);
      expect(refused.json).toMatchObject({ code: 'unavailable' });
      const read = await gateway.get(`/v1/threads/${how}-a/turns/${ids[0] ?? ''}`);
      expect(read.status).toBe(503);
      expect(await readiness()).toBe(503);
      expect((await gateway.get('/healthz')).status).toBe(200);
      await until('the outage to be long', () => performance.now() - downAt >= downMs || undefined);
      await postgres.start();
      const rows = await allSettled(url, `${how}-%`);
      expect(brokenRules(rows)).toEqual([]);
      expect(rows).toHaveLength(9);
      for (const thread of threads) {
        expect(fleet.model.count(`${thread} one`)).toBe(1);
        expect(fleet.model.count(`${thread} two`)).toBe(1);
      }
      expect((await waiting).json).toMatchObject({ status: 'committed', version: 1 });
      await until('to be ready again', async () =>
        (await readiness()) === 200 ? true : undefined,
      );
      everybodyLives();
    },
  );
});

describe('a failover cuts connections around COMMIT', () => {
  const wantedCuts = long ? 400 : 40;

  test(`P9 P3 C1 ${wantedCuts} cuts, before and after: one turn per key, one commit per turn, one model call per turn`, async () => {
    // About every third write, so that accepts, claims and settlements are hit, retries of them too.
    let [random, cuts] = [7, 0];
    const before = proxy.cuts();
    proxy.onWrite(() => {
      random = (random * 1_103_515_245 + 12_345) % 2 ** 31;
      if (random > 2 ** 31 / 3 || cuts >= wantedCuts) return 'pass';
      cuts += 1;
      return cuts % 2 === 0 ? 'before' : 'after';
    });
    const posted: string[] = [];
    /** A client that does as the documentation says: the same key until there is an answer. */
    const insist = async (thread: string, n: number): Promise<void> => {
      const message = `${thread} number-${n}.`;
      posted.push(message);
      await until(`an answer to ${message}`, async () => {
        const { status } = await gateway.chat(thread, message, { 'idempotency-key': `k${n}` });
        if (![200, 202, 503].includes(status)) throw new Error(`${message}: ${status}`);
        return status === 200 ? true : undefined;
      });
    };
    const oneThread = async (thread: string): Promise<void> => {
      for (let n = 1; cuts < wantedCuts || n <= 3; n += 1) await insist(thread, n);
    };
    await Promise.all(['a', 'b', 'c', 'd'].map((name) => oneThread(`cut-${name}`)));
    proxy.onWrite(() => 'pass');
    expect(proxy.cuts() - before).toBe(wantedCuts);
    const rows = await allSettled(url, 'cut-%');
    expect(brokenRules(rows)).toEqual([]);
    expect(rows).toHaveLength(posted.length);
    for (const message of posted)
      expect([message, fleet.model.count(message)]).toEqual([message, 1]);
    everybodyLives();
  });

  test('P3 the commit of a turn, its look-up, and those after them are cut one after the other: still one model call', async () => {
    const message = 'delay=200 unlucky';
    const fates = ['after', 'before', 'before', 'after', 'before', 'after'] as const;
    const left: ('before' | 'after')[] = [];
    for (const first of [fates, fates.slice(1), fates.slice(2)]) {
      const thread = `unlucky-${first.length}`;
      left.push(...first);
      const answered = (): boolean =>
        fleet.model.calls.some((call) => call.last.includes(thread) && call.answered);
      proxy.onWrite(() => (answered() ? (left.shift() ?? 'pass') : 'pass'));
      await gateway.accept(thread, `${message} ${thread}`);
      expect(brokenRules(await allSettled(url, thread))).toEqual([]);
      expect(fleet.model.count(thread)).toBe(1);
      // Whether a commit or a look-up was hit last, what is left belongs to nobody.
      left.splice(0);
    }
    proxy.onWrite(() => 'pass');
    everybodyLives();
  });
});

describe('W29 sizes', () => {
  let connection: TemporalConnection;
  let store: string;
  beforeAll(async () => {
    installRuntime(() => undefined);
    const settings = { address: temporal.address, namespace: 'default', security: {} };
    connection = await connectTemporal(settings);
    store = await onPostgres(url, async (client) => {
      const { rows } = await client.query<{ store: string }>('SELECT store FROM et_schema');
      return rows[0]?.store ?? '';
    });
  });
  afterAll(() => connection.close());
  const historyBytes = async (threadId: string): Promise<number> => {
    const id = workflowIdOf({ tenant: 'default', threadId, store });
    const { raw } = await connection.client.workflow.getHandle(id).describe();
    return Number(raw.workflowExecutionInfo?.historySizeBytes);
  };

  test.each([0.5, 1, 2.1, 4.1])(
    'A2 a reply of %d MB commits, replays and is gone on from; nothing of it goes through Temporal',
    async (megabytes) => {
      const chunks = Math.round(megabytes * 100_000);
      const thread = `size-${megabytes}`;
      const key = { 'idempotency-key': 'k' };
      const message = `say=0123456789 repeat=${chunks}`;
      const answer = await gateway.chat(thread, message, key);
      expect(answer.json).toMatchObject({ status: 'committed', version: 1 });
      expect(answer.json.response).toHaveLength(chunks * 10);
      expect((await gateway.chat(thread, message, key)).text === answer.text).toBe(true);
      expect((await gateway.chat(thread, 'and on')).json.response).toBe('seen 2: and on');
      expect(await historyBytes(thread)).toBeLessThan(20_000);
    },
  );

  test('A1 a message that is too large is refused by name and leaves no turn; a large input runs', async () => {
    for (const [bytes, status, code] of [
      [500_000, 400, 'invalid_request'],
      [1_100_000, 413, 'too_large'],
      [2_100_000, 413, 'too_large'],
      [4_100_000, 413, 'too_large'],
    ] as const) {
      const answer = await gateway.chat('size-in', 'x'.repeat(bytes));
      expect([answer.status, answer.json.code]).toEqual([status, code]);
    }
    expect((await gateway.get('/v1/threads/size-in')).status).toBe(404);
    const messages = [{ role: 'user', content: `large ${'x'.repeat(500_000)}` }];
    const large = await gateway.post('/v1/threads/size-in/turns', { input: { messages } });
    expect(large.json).toMatchObject({ status: 'committed', version: 1 });
  });
});

describe('a storm of cancels and of clients that go away', () => {
  test('A4 P6 every reply and every transcript holds its own canary and nobody else’s', async () => {
    const threads = Array.from({ length: 24 }, (_, n) => `storm-${n}`);
    const canaries = (text: string): string[] => [...new Set(text.match(/canary-\d+-/g))];
    await Promise.all(
      threads.map(async (thread, n) => {
        const own = `canary-${n}-`;
        const leaving = new AbortController();
        const request = fetch(`${gateway.url}/v1/chat`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-thread-id': thread },
          body: JSON.stringify({ message: `delay=300 ${own} left` }),
          signal: leaving.signal,
        }).catch(() => undefined);
        const cancelled = await gateway.accept(thread, `delay=300 ${own} cancelled`);
        if (n % 2 === 0) leaving.abort();
        await gateway.post(`/v1/threads/${thread}/turns/${cancelled}/cancel`, {});
        await request;
        const last = await gateway.chat(thread, `${own} last`);
        expect(last.status).toBe(200);
        expect(canaries(last.text)).toEqual([own]);
        const page = await gateway.get(`/v1/threads/${thread}/messages`);
        expect(canaries(page.text)).toEqual([own]);
      }),
    );
    for (const call of fleet.model.calls.filter(({ last }) => last.includes('canary-')))
      expect(canaries(call.messages.map(({ text }) => text).join(' '))).toHaveLength(1);
    everybodyLives();
  });
});
