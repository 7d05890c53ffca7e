/** Versions of the workers (V1-V4): rolled out, rolled back and drained under traffic, on real processes. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runCli } from '../cli/run-cli.js';
import type { Ran } from '../cli/run-cli.js';
import { createPostgresDatabase, onPostgres } from '../support/database.js';
import { startTestTemporal } from '../support/temporal-server.js';
import type { TestTemporal } from '../support/temporal-server.js';
import { until } from '../support/until.js';
import { allSettled, brokenRules, said, startFleet } from './fleet.js';
import type { Fleet, GatewayProc } from './fleet.js';
import { traffic } from './traffic.js';

/** The server waits three minutes before it calls a version drained; nothing that it waits for is pinned here. */
const drainsSoon = {
  'matching.wv.VersionDrainageStatusVisibilityGracePeriod': '"1s"',
  'matching.wv.VersionDrainageStatusRefreshInterval': '"1s"',
};
/** A dozen processes start one after the other, each a second of CPU or two. */
const manyStartsMs = 600_000;

let temporal: TestTemporal;
let database: Awaited<ReturnType<typeof createPostgresDatabase>>;
let fleet: Fleet;
let gateway: GatewayProc;
let env: Record<string, string>;
beforeAll(async () => {
  [temporal, database] = await Promise.all([
    startTestTemporal(drainsSoon),
    createPostgresDatabase(),
  ]);
  env = { EVERTHREAD_POSTGRES_URL: database.url, TEMPORAL_ADDRESS: temporal.address };
  fleet = await startFleet({ postgresUrl: database.url, temporalAddress: temporal.address });
  expect((await fleet.migrate()).child.exitCode).toBe(0);
  gateway = await fleet.gateway();
}, manyStartsMs);
afterAll(async () => {
  await fleet.stop();
  await temporal.stop();
  await database.drop();
});

const deploy = (...words: string[]): Promise<Ran> => runCli(['deploy', ...words], { env });
const workerOf = (build: string) => fleet.worker({ env: { EVERTHREAD_BUILD_ID: build } });

interface Build {
  readonly build_id: string | null;
  readonly status: string;
  readonly workers: number;
  readonly turns: number;
}
async function builds(): Promise<Record<string, Build>> {
  const { stdout } = await deploy('ls', '--json');
  const listed = (JSON.parse(stdout) as { builds: Build[] }).builds;
  return Object.fromEntries(listed.map((build) => [build.build_id ?? 'none', build]));
}

/** Which builds took the turns of a thread that were accepted behind this seq. */
const takers = (thread: string, after = 0): Promise<(string | null)[]> =>
  onPostgres(database.url, async (client) => {
    const { rows } = await client.query<{ build_id: string | null }>(
      'SELECT DISTINCT build_id FROM et_turns WHERE thread_id LIKE $1 AND seq > $2 ORDER BY build_id',
      [thread, after],
    );
    return rows.map((row) => row.build_id);
  });

describe('builds of the workers', () => {
  test(
    'V1 V2 V3 T1 C1 from no build id to A, to B and back to A under traffic: every turn once, in order, on the build that is current',
    async () => {
      const none = await fleet.worker();
      const load = traffic([gateway], 'roll');
      await load.more(6);
      const a = await workerOf('A');
      await said(a, 'no turn comes to this build until', manyStartsMs);
      await load.more(6); // the first build beside workers without one: nothing changes yet
      expect(await takers('roll-%')).toEqual([null]);
      expect(await deploy('current', '--build-id', 'A', '--unversioned')).toMatchObject({
        ...{ code: 2, stderr: expect.stringContaining('exclude each other') },
      });
      expect(await deploy('current', '--build-id', 'A')).toMatchObject({
        ...{ code: 0, stderr: '' },
        stdout: 'Build A is current; workers without a build id were.\n',
      });
      await load.more(6);
      await none.end();
      const b = await workerOf('B');
      const half = await deploy('ramp', '--build-id', 'B', '--percent', '50');
      expect(half).toMatchObject({ code: 0, stdout: '50 % of the threads go to build B.\n' });
      await load.more(12);
      expect(await builds()).toMatchObject({
        A: { status: 'current', workers: 1 },
        B: { status: 'ramping', workers: 1 },
      });
      expect((await deploy('current', '--build-id', 'B')).code).toBe(0);
      expect((await deploy('current', '--build-id', 'B')).stdout).toBe(
        'Build B is current already.\n',
      );
      await load.more(6);
      await until('turns on B only', async () => {
        const { A, B } = await builds();
        return A?.turns === 0 && B?.status === 'current' ? true : undefined;
      });
      const seen = load.answers.size;
      await load.more(6);
      expect(load.answers.size).toBeGreaterThan(seen);
      expect((await deploy('current', '--build-id', 'A')).code).toBe(0); // rolled back
      const drained = await deploy('wait', '--build-id', 'B', '--timeout', '60s');
      expect(drained).toMatchObject({
        code: 0,
        stdout: 'Build B is drained: its workers may be stopped.\n',
      });
      await said(b, 'this build is drained', manyStartsMs);
      await b.end();
      expect(b.child.exitCode).toBe(0);
      await load.more(6);
      await load.stop();
      const rows = await allSettled(database.url, 'roll-%');
      expect(brokenRules(rows)).toEqual([]);
      expect(rows).toHaveLength(load.answers.size);
      expect(rows.filter(({ losses }) => losses > 0)).toEqual([]);
      for (const message of load.answers.keys())
        expect([message, fleet.model.count(message)]).toEqual([message, 1]);
      expect(await takers('roll-%')).toEqual(['A', 'B', null]);
      expect((await gateway.get('/v1/threads/roll-1')).json.build_id).toBe('A');
      await a.end();
    },
    manyStartsMs,
  );
});

describe('what would strand turns', () => {
  test(
    'V4 is refused: a build that no worker runs, and any on a server without worker deployments',
    async () => {
      const absent = await deploy('current', '--build-id', 'Z', '--wait', '100ms');
      expect(absent).toMatchObject({ code: 1, stdout: '' });
      expect(absent.stderr).toContain('No worker of build Z asks for turns');
      expect(absent.stderr).not.toContain('bug');
      const without = await startTestTemporal({ 'system.enableDeploymentVersions': 'false' });
      const there = { TEMPORAL_ADDRESS: without.address };
      try {
        const [asked, started] = await Promise.all([
          runCli(['deploy', 'ls'], { env: { ...env, ...there } }),
          fleet.worker({ env: { ...there, EVERTHREAD_BUILD_ID: 'A' } }).catch(String),
        ]);
        expect(asked.code).toBe(1);
        for (const told of [asked.stderr, started])
          expect(told).toContain('does not let us use worker deployments');
      } finally {
        await without.stop();
      }
    },
    manyStartsMs,
  );
});
