/** PostgreSQL fails over to a standby that had not got the last commits (W13): what was acknowledged since then is gone. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { createPostgresDatabase, onPostgres } from '../support/database.js';
import { everthread } from '../support/processes.js';
import { startTestTemporal } from '../support/temporal-server.js';
import type { TestTemporal } from '../support/temporal-server.js';
import { until } from '../support/until.js';
import { allSettled, brokenRules, said, startFleet } from './fleet.js';
import type { Fleet } from './fleet.js';

let database: Awaited<ReturnType<typeof createPostgresDatabase>>;
let temporal: TestTemporal;
let fleet: Fleet;
beforeAll(async () => {
  [database, temporal] = await Promise.all([createPostgresDatabase(), startTestTemporal()]);
  fleet = await startFleet({ postgresUrl: database.url, temporalAddress: temporal.address });
  await fleet.migrate();
});
afterAll(async () => {
  await fleet.stop();
  await Promise.all([standby, lost].map((name) => administer(drop(name))));
  await database.drop();
  await temporal.stop();
});

const nameOf = (url: string): string => url.slice(url.lastIndexOf('/') + 1);
const [standby, lost] = ['standby', 'lost'].map((part) => `t_${part}_${process.pid}`) as [
  string,
  string,
];
const drop = (name: string): string => `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`;
const administer = (...statements: string[]): Promise<unknown> =>
  onPostgres(database.url.replace(/[^/]+$/, 'postgres'), async (client) => {
    for (const sql of statements) await client.query(sql);
  });

/** Nobody is connected to the primary meanwhile: its processes find their connections cut, and come back. */
const alone = (...statements: string[]): Promise<unknown> => {
  const primary = nameOf(database.url);
  return administer(
    `ALTER DATABASE ${primary} ALLOW_CONNECTIONS false`,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${primary}'`,
    ...statements,
  );
};
const standbyAsNow = (): Promise<unknown> =>
  alone(
    `CREATE DATABASE ${standby} TEMPLATE ${nameOf(database.url)}`,
    `ALTER DATABASE ${nameOf(database.url)} ALLOW_CONNECTIONS true`,
  );
/** The same address leads to the standby. */
const failOver = (): Promise<unknown> =>
  alone(
    `ALTER DATABASE ${nameOf(database.url)} RENAME TO ${lost}`,
    `ALTER DATABASE ${standby} RENAME TO ${nameOf(database.url)}`,
  );

async function command(...args: string[]): Promise<number | null> {
  const proc = everthread(args, {
    EVERTHREAD_STORAGE: 'postgres',
    EVERTHREAD_POSTGRES_URL: database.url,
    TEMPORAL_ADDRESS: temporal.address,
  });
  if (proc.alive()) await once(proc.child, 'exit');
  return proc.child.exitCode;
}

describe('a failover that loses acknowledged commits', () => {
  test('W13 O4 C1 treated as a restore: forgotten processes end and write nothing, threads go on from what is left, clients are told', async () => {
    const [gateway, worker] = await Promise.all([fleet.gateway(), fleet.worker()]);
    const one = await gateway.chat('kept', 'one');
    await gateway.accept('half', 'delay=6000 half one');
    await fleet.model.until(() => fleet.model.count('half one') === 1);
    await standbyAsNow();
    const two = await until('an answer that will be lost', async () => {
      const answer = await gateway.chat('kept', 'two', { 'idempotency-key': 'two' });
      return answer.status === 200 ? answer : undefined;
    });
    expect(two.json).toMatchObject({ version: 2 });
    expect((await gateway.chat('young', 'one')).status).toBe(200);

    await failOver();
    expect(await command('restore', '--in-place')).toBe(0);
    for (const forgotten of [gateway, worker]) {
      await said(forgotten, 'is another store now').catch(() => undefined);
      await until('it to end', () => (forgotten.alive() ? undefined : true));
      expect(forgotten.log()).toContain('is another store now');
    }

    const [next] = await Promise.all([fleet.gateway(), fleet.worker()]);
    expect((await next.get('/v1/threads/kept')).json).toMatchObject({ version: 1 });
    expect((await next.get(`/v1/threads/kept/turns/${String(two.json.turn_id)}`)).status).toBe(404);
    expect((await next.get('/v1/threads/young')).status).toBe(404);
    const built = await next.post('/v1/threads/kept/turns', { message: 'on two', if_version: 2 });
    expect([built.status, built.json.code]).toEqual([409, 'base_changed']);
    const again = await next.get(`/v1/threads/kept/turns/${String(one.json.turn_id)}`);
    expect(again.json).toMatchObject({ response: one.json.response, version: 1 });
    const other = await next.chat('kept', 'another two', { 'idempotency-key': 'two' });
    expect(other.json).toMatchObject({ version: 2, response: 'seen 2: another two' });
    await next.chat('half', 'half two');
    const rows = await allSettled(database.url, '%');
    expect(brokenRules(rows.filter(({ status }) => status !== 'failed'))).toEqual([]);
    expect(rows.map(({ thread_id: thread, status }) => `${thread} ${status}`)).toEqual([
      ...['half committed', 'half committed', 'kept committed', 'kept committed'],
    ]);
    // Once by the worker of the lost time, whose answer was refused, and once for good.
    expect(fleet.model.count('half one')).toBe(2);
    expect(await command('fsck')).toBe(0);
  });
});
