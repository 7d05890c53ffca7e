/**
 * Streams while everything around them dies: readers come and go between two gateways, and every few seconds a gateway or
 * a worker is killed. `EVERTHREAD_TEST_STORM=long` runs 200 streams; the seed is in the name of the test.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient, textAfter, type SeenEvent } from '../../client/client.js';
import { freePort } from '../../temporal/ports.js';
import { random, type Random } from '../chaos/random.js';
import { said } from '../faults/fleet.js';
import { createPostgresDatabase } from '../support/database.js';
import { everthread, type Proc, untilReady } from '../support/processes.js';
import { startScriptedModel, type ScriptedModel } from '../support/scripted-model.js';
import { startTestTemporal, type TestTemporal } from '../support/temporal-server.js';

const isLong = process.env.EVERTHREAD_TEST_STORM === 'long';
const streams = isLong ? 200 : 40;
const words = 40;
const gapMs = 60;
/** After the last one is back; a lost worker's turns are taken over some seconds later. */
const killEveryMs = 2_000;
/** A turn whose worker is lost ten times fails by design. */
const mostKills = isLong ? 12 : 4;
const seed = process.env.EVERTHREAD_TEST_SEED ?? 'storm-1';

let temporal: TestTemporal;
let model: ScriptedModel;
let database: Awaited<ReturnType<typeof createPostgresDatabase>>;
let env: Record<string, string>;
const procs = new Set<Proc>();

const start = (command: string, more: Record<string, string> = {}): Proc => {
  const proc = everthread([command], { ...env, ...more });
  procs.add(proc);
  return proc;
};

beforeAll(async () => {
  [temporal, model, database] = await Promise.all([
    startTestTemporal(),
    startScriptedModel(),
    createPostgresDatabase(),
  ]);
  env = {
    EVERTHREAD_STORAGE: 'postgres',
    EVERTHREAD_POSTGRES_URL: database.url,
    EVERTHREAD_AUTO_MIGRATE: 'true',
    TEMPORAL_ADDRESS: temporal.address,
    EVERTHREAD_MODEL: 'openai:scripted',
    OPENAI_API_KEY: 'test',
    OPENAI_BASE_URL: model.url,
    LOG_LEVEL: 'info',
  };
});
afterAll(async () => {
  await Promise.all([...procs].map((proc) => proc.end('SIGKILL')));
  await Promise.all([temporal.stop(), model.close()]);
  await database.drop();
});

interface Gateway {
  readonly port: number;
  readonly url: string;
  proc: Proc;
}

async function openGateway(): Promise<Gateway> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const proc = start('gateway', { PORT: String(port) });
  await untilReady(url, proc);
  return { port, url, proc };
}

/** Kills gateways and workers in turns, each when the one before it is back, until nobody streams any more. */
async function rage(
  gateways: readonly Gateway[],
  workers: Proc[],
  over: AbortSignal,
): Promise<number> {
  let kills = 0;
  while (kills < mostKills) {
    await pause(killEveryMs, undefined, { signal: over }).catch(() => undefined);
    if (over.aborted) break;
    kills += 1;
    const gateway = gateways[kills % gateways.length];
    if (kills % 2 === 1) {
      await workers.shift()?.end('SIGKILL');
      const heir = start('worker');
      workers.push(heir);
      await said(heir, 'worker is ready');
    } else if (gateway !== undefined) {
      await gateway.proc.end('SIGKILL');
      gateway.proc = start('gateway', { PORT: String(gateway.port) });
      await untilReady(gateway.url, gateway.proc);
    }
  }
  return kills;
}

interface Watched {
  readonly text: string;
  readonly response: string;
  readonly ids: readonly string[];
  readonly connections: number;
}

/** One reader: it leaves when it likes and comes back to any gateway, with what it has seen. */
async function watch(
  thread: string,
  message: string,
  urls: readonly string[],
  dice: Random,
): Promise<Watched> {
  const ids: string[] = [];
  let text = '';
  let turnId: string | undefined;
  let connections = 0;
  for (;;) {
    connections += 1;
    const client = createClient(dice.pick(urls));
    const leave = AbortSignal.timeout(dice.between(500, 5_000));
    const lastEventId = ids.at(-1);
    const events: AsyncGenerator<SeenEvent> =
      turnId === undefined
        ? client.stream(thread, { message }, { signal: leave, key: thread })
        : client.join(thread, turnId, {
            signal: leave,
            ...(lastEventId !== undefined && { lastEventId }),
          });
    for await (const event of events) {
      if (event.event === 'accepted') turnId = event.data.turn_id;
      if (event.event === 'error') throw new Error(`${thread}: ${JSON.stringify(event.data)}`);
      if (event.id !== undefined) ids.push(event.id);
      text = textAfter(text, event);
      if (event.event === 'done') {
        return { text, response: event.data.response, ids, connections };
      }
    }
  }
}

const wordsOf = (i: number): string =>
  Array.from({ length: words }, (_, n) => `${i}:${n}${n % 7 === 0 ? '漢字👩‍👩‍👧' : ''}`).join(' ');

describe(`a storm (seed ${seed})`, () => {
  test(`S2 S3 P10 ${streams} streams: every reader ends with the committed text, and sees no event id twice`, async () => {
    const dice = random(seed);
    const gateways = [await openGateway(), await openGateway()];
    const workers = [start('worker'), start('worker')];
    await Promise.all(workers.map((worker) => said(worker, 'worker is ready')));
    const urls = gateways.map(({ url }) => url);
    const calm = new AbortController();
    const raging = rage(gateways, workers, calm.signal);
    const watched = await Promise.all(
      Array.from({ length: streams }, async (_, i) => {
        const text = wordsOf(i);
        const message = `gap=${gapMs} say=${encodeURIComponent(text)}`;
        const seen = await watch(`storm-${i}`, message, urls, dice.split(String(i)));
        return { ...seen, expected: text };
      }),
    ).finally(() => calm.abort());
    const kills = await raging;
    for (const { text, response, expected, ids } of watched) {
      expect(text).toBe(response);
      expect(response).toBe(expected);
      expect(new Set(ids).size).toBe(ids.length);
    }
    const connections = watched.reduce((sum, { connections: n }) => sum + n, 0);
    expect(kills).toBeGreaterThan(1);
    expect(connections).toBeGreaterThan(streams);
  });
});
