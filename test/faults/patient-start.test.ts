/** A gateway and a worker begin while PostgreSQL is down, or lose it at any step of their beginning: they say so, wait, and serve. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { freePort } from '../../temporal/ports.js';
import { cuttingProxy } from '../support/cutting-proxy.js';
import { startPostgres } from '../support/postgres-server.mjs';
import type { PostgresServer } from '../support/postgres-server.mjs';
import { everthread, untilReady } from '../support/processes.js';
import type { Proc } from '../support/processes.js';
import { request } from '../support/product.js';
import { startTestTemporal } from '../support/temporal-server.js';
import type { TestTemporal } from '../support/temporal-server.js';
import { said } from './fleet.js';

let postgres: PostgresServer;
let temporal: TestTemporal;
let address: string;
const running: Proc[] = [];
beforeAll(async () => {
  [postgres, temporal] = await Promise.all([startPostgres(), startTestTemporal()]);
  address = `${postgres.url.replace('postgres@', 'postgres:hunter2@')}/postgres`;
  const migrate = start('migrate', address);
  await new Promise((done) => migrate.child.once('exit', done));
});
afterAll(async () => {
  await Promise.all(running.map((proc) => proc.end('SIGKILL')));
  await temporal.stop();
  await postgres.stop();
});

function start(command: string, postgresUrl: string, port = 0): Proc {
  const proc = everthread([command], {
    EVERTHREAD_STORAGE: 'postgres',
    EVERTHREAD_POSTGRES_URL: postgresUrl,
    EVERTHREAD_MODEL: 'builtin',
    TEMPORAL_ADDRESS: temporal.address,
    PORT: String(port),
  });
  running.push(proc);
  return proc;
}

const chat = (url: string) =>
  request(`${url}/v1/chat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ message: 'hello' }),
  });

/** Both are ready, a turn is answered, and no process has ended. */
async function serves(url: string, gateway: Proc, worker: Proc): Promise<void> {
  await untilReady(url, gateway);
  await said(worker, 'worker is ready');
  expect((await chat(url)).json).toMatchObject({ status: 'committed' });
  for (const proc of [gateway, worker]) expect(proc.alive()).toBe(true);
}

describe('PostgreSQL is away when a gateway and a worker begin', () => {
  test('A3 O7 they say so without the password and wait; the gateway is up and answers 503; both serve when it comes', async () => {
    await postgres.halt('SIGINT');
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const [gateway, worker] = [start('gateway', address, port), start('worker', address)];
    for (const proc of [gateway, worker]) {
      await said(proc, `waiting for PostgreSQL: PostgreSQL at ${new URL(address).host}/postgres`);
      expect(proc.log()).not.toContain('hunter2');
    }
    expect((await request(`${url}/healthz`, {})).status).toBe(200);
    const ready = await request(`${url}/readyz`, {});
    expect([ready.status, ready.json.not_ready]).toEqual([503, ['database']]);
    const refused = await chat(url);
    expect([refused.status, refused.json.code]).toEqual([503, 'unavailable']);
    expect(refused.headers.get('retry-after')).toBe('1');
    await postgres.start();
    await serves(url, gateway, worker);
  });

  test('O7 a stop ends the waiting with 0', async () => {
    const nowhere = address.replace(/:\d+\//, ':1/');
    const waiting = ['gateway', 'worker'].map((command) => start(command, nowhere));
    for (const proc of waiting) {
      await said(proc, 'waiting for PostgreSQL');
      await proc.end('SIGTERM');
      expect(proc.child.exitCode).toBe(0);
    }
  });
});

describe('the connection is cut while they begin', () => {
  /** What a start sends, in its order: log in, probe, set limits, read the schema; then the relay. */
  const steps = [
    ...['application_name\0everthread\0', 'pg_backend_pid', 'statement_timeout'],
    ...['BEGIN ISOLATION', 'et_schema', 'application_name\0everthread relay\0', 'LISTEN'],
  ];

  test('O7 at each of its steps once: each process begins again by itself', async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const proxies = await Promise.all([cuttingProxy(address), cuttingProxy(address)]);
    const left = proxies.map((proxy) => proxy.cutAt(steps));
    const [forGateway, forWorker] = proxies;
    const gateway = start('gateway', forGateway.url, port);
    const worker = start('worker', forWorker.url);
    await serves(url, gateway, worker);
    expect(left.map((marks) => [...marks])).toEqual([[], []]);
    await Promise.all([gateway.end('SIGKILL'), worker.end('SIGKILL')]);
    await Promise.all(proxies.map((proxy) => proxy.close()));
  });
});
