/** Connections that die without a word, as when a host is cut off: no RST, no FIN. Those who are cut off alone hold nobody up. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { Frame } from '../../contracts/frames.js';
import { postgresDriver } from '../../storage/driver-postgres.js';
import { postgresRelay } from '../../storage/relay-postgres.js';
import { query } from '../../storage/tx.js';
import { blackHole } from '../support/black-hole.js';
import type { BlackHole } from '../support/black-hole.js';
import { createPostgresDatabase } from '../support/database.js';
import type { Proc } from '../support/processes.js';
import { startTestTemporal } from '../support/temporal-server.js';
import type { TestTemporal } from '../support/temporal-server.js';
import { until } from '../support/until.js';
import { allSettled, brokenRules, startFleet } from './fleet.js';
import type { Fleet, GatewayProc } from './fleet.js';

let database: Awaited<ReturnType<typeof createPostgresDatabase>>;
/** Between the database and those who are to be cut off. */
let hole: BlackHole;
let behindHole: string;
beforeAll(async () => {
  database = await createPostgresDatabase();
  const { hostname: host, port } = new URL(database.url);
  hole = await blackHole({ host, port: Number(port) });
  const url = new URL(database.url);
  url.port = String(hole.port);
  behindHole = url.href;
});
afterAll(async () => {
  await hole.close();
  await database.drop();
});

describe('the relay', () => {
  test('S1 a listening connection that dies in silence is noticed within seconds: frames arrive over another one', async () => {
    const onTrouble = (): void => undefined;
    const store = 'silence';
    const worker = await postgresRelay({ url: database.url, store, onTrouble });
    const gateway = await postgresRelay({ url: behindHole, store, onTrouble });
    const got: Frame[] = [];
    const place = { turn: randomUUID(), fence: 1, step: 0 };
    gateway.subscribe(place.turn, (frame) => got.push(frame));
    let seq = 0;
    const heard = (): Promise<true> =>
      until('a frame', () => {
        worker.publish([
          { ...place, seq: (seq += 1), kind: 'token', data: { message_id: 'm', text: '.' } },
        ]);
        return got.length > 0 || undefined;
      });
    await heard();
    hole.swallow('open');
    got.length = 0;
    // A look every 2 s, which must be answered within 3 s; TCP itself would take a quarter of an hour.
    await heard();
    await Promise.all([worker.close(), gateway.close()]);
  });

  test('S1 a relay that is cut off can be closed', async () => {
    const gateway = await postgresRelay({
      url: behindHole,
      store: 'cut',
      onTrouble: () => undefined,
    });
    hole.swallow('all');
    await gateway.close();
    hole.heal();
  });
});

test('A3 the server, too, gives up a client that is gone without a word, in half a minute', async () => {
  const driver = await postgresDriver({ url: database.url, poolSize: 1 });
  const names = ['tcp_user_timeout', 'tcp_keepalives_idle', 'tcp_keepalives_interval'];
  const [row] = await driver.read(() =>
    query(`SELECT ${names.map((name) => `current_setting('${name}') AS ${name}`).join(', ')}`),
  );
  await driver.close();
  expect(row).toEqual({
    ...{ tcp_user_timeout: '25000', tcp_keepalives_idle: '10', tcp_keepalives_interval: '5' },
  });
});

describe('a gateway and a worker that are cut off from their database alone', () => {
  let temporal: TestTemporal;
  let fleet: Fleet;
  let alone: GatewayProc;
  let gateway: GatewayProc;
  let worker: Proc;
  beforeAll(async () => {
    temporal = await startTestTemporal();
    fleet = await startFleet({ postgresUrl: database.url, temporalAddress: temporal.address });
    await fleet.migrate();
    const cutOff = { env: { EVERTHREAD_POSTGRES_URL: behindHole } };
    [alone, gateway, worker] = await Promise.all([
      fleet.gateway(cutOff),
      fleet.gateway(),
      fleet.worker(cutOff),
    ]);
  });
  afterAll(async () => {
    await fleet.stop();
    await temporal.stop();
  });

  test('T7 A12 the worker’s turn goes on at another worker, the gateway’s client at another gateway, and both heal', async () => {
    const key = { 'idempotency-key': 'one' };
    const waiting = alone.chat('cut', 'delay=1500 one', key);
    await fleet.model.until(() => fleet.model.count('one') === 1);
    hole.swallow('all');
    await fleet.worker();
    // The first worker heartbeats on, but not for ever: the other one has the turn, and commits it.
    const attached = await gateway.chat('cut', 'delay=1500 one', key);
    expect(attached.status).toBe(200);
    const told = await waiting;
    expect(told.status).toBe(202);
    expect(told.json.turn_id).toBe(attached.json.turn_id);
    expect((await alone.get('/readyz')).status).toBe(503);
    expect((await alone.chat('cut', 'two')).status).toBe(503);
    hole.heal();
    await until('the gateway to be ready', async () =>
      (await alone.get('/readyz')).status === 200 ? true : undefined,
    );
    expect((await alone.chat('cut', 'two')).status).toBe(200);
    const rows = await allSettled(database.url, 'cut');
    expect(brokenRules(rows)).toEqual([]);
    expect(rows.map(({ status }) => status)).toEqual(['committed', 'committed']);
    expect(worker.alive()).toBe(true);
    // A stop in the middle of a silence ends, too.
    hole.swallow('all');
    await alone.end('SIGTERM');
    hole.heal();
  });
});
