/** Deploys: workers drain, an old and a new build serve the same threads at once, and a rollback works. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { extract } from 'tar';
import { createPostgresDatabase } from '../support/database.js';
import { cuttingProxy } from '../support/cutting-proxy.js';
import type { CuttingProxy } from '../support/cutting-proxy.js';
import type { Proc } from '../support/processes.js';
import { startTestTemporal } from '../support/temporal-server.js';
import type { TestTemporal } from '../support/temporal-server.js';
import { allSettled, brokenRules, said, startFleet } from './fleet.js';
import type { Fleet, GatewayProc, ProcOptions } from './fleet.js';
import { traffic } from './traffic.js';

/** Made by `scripts/pack-build.mjs`: the first landed build that had every protocol rule, and the first that runs on a schema to which a newer one has added. */
const packed = { old: 'test/fixtures/builds/v1.tar.gz', back: 'test/fixtures/builds/v2.tar.gz' };

/** Ten processes start one after the other, each a second of CPU or two. */
const manyStartsMs = 360_000;

let temporal: TestTemporal;
let database: Awaited<ReturnType<typeof createPostgresDatabase>>;
let proxy: CuttingProxy;
let fleet: Fleet;
let folder: string;
/** How to run the old build, and the one that a rollback goes back to. */
let old: ProcOptions;
let back: ProcOptions;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'everthread-old-'));
  old = await unpacked(packed.old, 'old');
  back = await unpacked(packed.back, 'back');
  [temporal, database] = await Promise.all([startTestTemporal(), createPostgresDatabase()]);
  proxy = await cuttingProxy(database.url);
  fleet = await startFleet({
    postgresUrl: database.url,
    temporalAddress: temporal.address,
    // Processes of ours that are overrun must not look dead to each other's clients.
    env: { EVERTHREAD_STEP_TIMEOUT: '60s' },
  });
});
afterAll(async () => {
  await fleet.stop();
  await proxy.close();
  await temporal.stop();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

async function unpacked(file: string, name: string): Promise<ProcOptions> {
  const cwd = path.join(folder, name);
  await mkdir(cwd);
  await extract({ file, cwd });
  await symlink(path.resolve('node_modules'), path.join(cwd, 'node_modules'));
  return { bin: path.join(cwd, 'bin', 'everthread.js') };
}

describe('an old and a new build at once', () => {
  test(
    'O6 P2 P4 T1 C1 a rolling deploy and its rollback under traffic: every turn once, in order, no model call twice',
    async () => {
      expect((await fleet.migrate(old)).child.exitCode).toBe(0);
      const gateways = [await fleet.gateway(old)];
      const [firstOld, secondOld] = await Promise.all([fleet.worker(old), fleet.worker(old)]);
      // Both run on what the new build makes of the schema.
      expect((await fleet.migrate()).child.exitCode).toBe(0);
      const load = traffic(gateways, 'roll');
      await load.more(6);
      const [newGateway, firstNew] = await Promise.all([fleet.gateway(), fleet.worker()]);
      gateways.push(newGateway);
      await load.more(24); // all four together
      await firstOld.end();
      const secondNew = await fleet.worker();
      await secondOld.end();
      await gateways.shift()?.end();
      await load.more(12); // new ones only
      // The first build knows no schema but its own: it says so and touches nothing.
      const refused = await fleet.worker(old).catch((error: unknown) => error);
      expect(String(refused)).toContain('newer than this build');
      const [backGateway, last] = await Promise.all([fleet.gateway(back), fleet.worker(back)]);
      gateways.push(backGateway);
      await load.more(12);
      await firstNew.end();
      await secondNew.end();
      await gateways.shift()?.end();
      await load.more(12); // rolled back
      await load.stop();
      const rows = await allSettled(database.url, 'roll-%');
      expect(brokenRules(rows)).toEqual([]);
      expect(rows).toHaveLength(load.answers.size);
      expect(rows.filter((row) => row.losses > 0)).toEqual([]);
      for (const message of load.answers.keys())
        expect([message, fleet.model.count(message)]).toEqual([message, 1]);
      for (const ended of [firstOld, secondOld]) expect(ended.child.exitCode).toBe(0);
      // A key of the deploy replays on whatever serves now.
      const [[message = '', text] = []] = load.answers;
      const [, thread = ''] = /(roll-\d) number-1\./.exec(message) ?? [];
      const again = await gateways[0]?.chat(thread, message, { 'idempotency-key': 'k1' });
      expect(again?.text).toBe(text);
      expect(again?.headers.get('idempotent-replayed')).toBe('true');
      await Promise.all([...gateways, last].map((proc) => proc.end()));
    },
    manyStartsMs,
  );
});

describe('SIGTERM drains a worker', () => {
  let gateway: GatewayProc;
  let stays: Proc;
  beforeAll(async () => {
    [gateway] = await Promise.all([fleet.gateway(), fleet.migrate()]);
  });
  const answeredOnce = (message: string): boolean =>
    fleet.model.calls.filter((call) => call.last === message && call.answered).length === 1;

  test('T2 in the middle of a model call: the call is finished and its turn committed, then it ends with 0', async () => {
    const leaving = await fleet.worker();
    const waiting = gateway.chat('drain-call', 'delay=1500 in call');
    await fleet.model.until(() => fleet.model.count('in call') === 1);
    const endedAt = performance.now();
    const ended = leaving.end('SIGTERM');
    await said(leaving, 'Stopping');
    await ended;
    expect(leaving.child.exitCode).toBe(0);
    expect(performance.now() - endedAt).toBeLessThan(20_000);
    expect((await waiting).json).toMatchObject({ status: 'committed', version: 1 });
    expect(fleet.model.count('in call')).toBe(1);
    expect(await allSettled(database.url, 'drain-call')).toMatchObject([{ fence: 1, losses: 0 }]);
  });

  test('C3 between two supersteps: the rest of the turn runs on another worker, no finished step again', async () => {
    const leaving = await fleet.worker();
    const message = 'delay=1200 tool=clock say=told%20you';
    const waiting = gateway.chat('drain-steps', message);
    await fleet.model.until(() => fleet.model.count(message) === 1);
    const ended = leaving.end('SIGTERM');
    stays = await fleet.worker();
    await ended;
    expect(leaving.child.exitCode).toBe(0);
    expect((await waiting).json).toMatchObject({ response: 'told you' });
    expect(fleet.model.count(message)).toBe(2); // the tool call and the reply
    const [row] = await allSettled(database.url, 'drain-steps');
    expect(row).toMatchObject({ losses: 0, fence: 2 });
    await stays.end();
  });

  test('C1 in the middle of a commit: the commit stands, and is not done again', async () => {
    const leaving = await fleet.worker({ env: { EVERTHREAD_POSTGRES_URL: proxy.url } });
    const message = 'delay=100 in commit';
    proxy.onWrite(() => {
      if (answeredOnce(message) && !leaving.child.killed) leaving.child.kill('SIGTERM');
      return 'pass';
    });
    const answer = await gateway.chat('drain-commit', message);
    expect(answer.json).toMatchObject({ status: 'committed', version: 1 });
    await leaving.end();
    expect(leaving.child.exitCode).toBe(0);
    await fleet.worker();
    expect((await gateway.chat('drain-commit', 'next')).json.response).toBe('seen 2: next');
    const rows = await allSettled(database.url, 'drain-commit');
    expect(brokenRules(rows)).toEqual([]);
    expect(rows.every(({ losses }) => losses === 0)).toBe(true);
    expect(fleet.model.count(message)).toBe(1);
  });
});
