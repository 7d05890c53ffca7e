/** Temporal goes away and comes back, or loses everything: our own rows are enough to go on. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { tenantAttribute, workflowIdOf } from '../../contracts/protocol.js';
import { startDevServer } from '../../temporal/dev-server.js';
import type { DevServer } from '../../temporal/dev-server.js';
import { freePort } from '../../temporal/ports.js';
import { createPostgresDatabase } from '../support/database.js';
import { durable, loaded } from '../support/durable.js';
import type { Durable } from '../support/durable.js';
import { testCli } from '../support/temporal-server.js';
import { gatedEcho } from '../support/gated-echo.js';
import { until } from '../support/until.js';
import { brokenRules, startFleet, turnRows } from './fleet.js';
import type { Fleet, GatewayProc } from './fleet.js';

const { graph, gates, ran } = gatedEcho();

let folder: string;
let port: number;
let server: DevServer;
let system: Durable;
const start = async (searchAttributes?: readonly string[]): Promise<void> => {
  server = await startDevServer({
    ...{ cliPath: await testCli(), port, uiPort: 0, headless: true, namespace: 'default' },
    dbFile: path.join(folder, 'temporal.db'),
    logFile: path.join(folder, 'temporal.log'),
    ...(searchAttributes !== undefined && { searchAttributes }),
  });
};
const loseEverything = async (): Promise<void> => {
  await server.stop();
  for (const end of ['', '-wal', '-shm'])
    rmSync(path.join(folder, `temporal.db${end}`), { force: true });
};
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'everthread-lost-'));
  port = await freePort();
  await start();
  system = await durable({
    address: `127.0.0.1:${port}`,
    graphs: [loaded('echo', graph)],
    sweep: { everyMs: 100, quietMs: 1_000 },
  });
});
afterAll(async () => {
  await system.stop();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const rowOf = async (turn: Awaited<ReturnType<Durable['post']>>) =>
  JSON.stringify(await system.storage.turns.get(turn.thread, turn.turnId));

describe('Temporal restored from nothing', () => {
  test('T2 T3 unsettled turns are made again from their rows, settled ones are not touched, threads go on', async () => {
    const done = await system.post('a', 'a1');
    await system.settled(done);
    const before = await rowOf(done);
    let open = (): void => undefined;
    gates.set('b1', new Promise((resolve) => (open = resolve)));
    const running = await system.post('b', 'b1');
    await until('the node to run', () => (ran.includes('b1') ? true : undefined));
    const behind = await system.post('b', 'b2');
    await loseEverything();
    // Accepted while nobody can be told.
    const ids = ['a', 'c'].map((threadId) => ({ threadId, turnId: `later-${threadId}` }));
    for (const { threadId, turnId } of ids)
      await expect(system.post(threadId, `${threadId} later`, { turnId })).rejects.toThrow();
    ran.length = 0;
    open();
    await start([]);
    for (const turn of [running, behind]) await system.settled(turn);
    const later = await until('the turns that nobody was told of', async () => {
      const found = await Promise.all(
        ids.map(({ threadId, turnId }) =>
          system.storage.turns.get({ tenant: 'default', threadId }, turnId),
        ),
      );
      return found.every((row) => typeof row?.settledAtMs === 'number') ? found : undefined;
    });
    expect(later.map((row) => row?.response)).toEqual(['seen 2: a later', 'seen 1: c later']);
    expect(await rowOf(done)).toBe(before);
    expect(ran).not.toContain('a1');
    for (const [turn, said] of [
      [running, 'seen 1: b1'],
      [behind, 'seen 2: b2'],
    ] as const)
      expect(await system.settled(turn)).toMatchObject({ status: 'committed', response: said });
    expect((await system.settled(await system.post('b', 'b3'))).response).toBe('seen 3: b3');
  });

  test('a cluster that has forgotten our search attributes learns them again, without a restart of ours', async () => {
    const { client } = system.connection;
    await until('a thread with its attributes', async () => {
      const thread = `attributes-${Math.random()}`;
      await system.settled(await system.post(thread, 'x'));
      const id = workflowIdOf({ tenant: 'default', threadId: thread, store: system.storage.store });
      const { typedSearchAttributes } = await client.workflow.getHandle(id).describe();
      const names = typedSearchAttributes.getAll().map(({ key }) => key.name);
      return names.includes(tenantAttribute) ? true : undefined;
    });
  });
});

describe('Temporal fails over to a copy of itself that is behind', () => {
  const files = ['', '-wal', '-shm'].map((end) => `temporal.db${end}`);
  const copyTo = (from: string, to: string): void => {
    for (const file of files) {
      rmSync(path.join(to, file), { force: true });
      if (existsSync(path.join(from, file)))
        copyFileSync(path.join(from, file), path.join(to, file));
    }
  };

  test('W24 T2 T3 C1 turns of the lost time stand and run once, a run that it has forgotten is made again, threads go on', async () => {
    await system.settled(await system.post('r', 'r1'));
    const standby = mkdtempSync(path.join(folder, 'standby-'));
    await server.stop();
    copyTo(folder, standby);
    await start();
    /** The row is there before Temporal is told: that it could not be told is no matter. */
    const accepted = async (threadId: string, text: string) => {
      await system.post(threadId, text, { turnId: text }).catch(() => undefined);
      return await until(`the row of ${text}`, () =>
        system.storage.turns.get({ tenant: 'default', threadId }, text),
      );
    };
    const r2 = await accepted('r', 'r2');
    await system.settled(r2);
    const before = await rowOf(r2);
    let open = (): void => undefined;
    gates.set('s1', new Promise((resolve) => (open = resolve)));
    const s1 = await accepted('s', 's1');
    await until('the node to run', () => (ran.includes('s1') ? true : undefined));
    await server.stop();
    copyTo(standby, folder);
    await start();
    open();
    const later = [await accepted('r', 'r3'), await accepted('s', 's2')];
    const rows = await Promise.all([s1, ...later].map((turn) => system.settled(turn)));
    expect(rows.map(({ response }) => response)).toEqual([
      ...['seen 1: s1', 'seen 3: r3', 'seen 2: s2'],
    ]);
    expect(await rowOf(r2)).toBe(before);
    for (const text of ['r1', 'r2', 's1', 'r3', 's2'])
      expect(ran.filter((one) => one === text)).toEqual([text]);
  });
});

describe('P2 wakes', () => {
  test('a turn that is asked for again and again is signalled once a second, each turn of its own', async () => {
    const turns = [await system.post('asked', 'one'), await system.post('asked', 'two')];
    await Promise.all(turns.map((turn) => system.settled(turn)));
    for (let n = 0; n < 50; n += 1)
      for (const { thread, turnId, seq } of turns)
        await system.wake.wake({ thread, turnId, seq }, { start: true });
    const id = workflowIdOf({ tenant: 'default', threadId: 'asked', store: system.storage.store });
    const { events } = await system.connection.client.workflow.getHandle(id).fetchHistory();
    const signals = events?.filter((e) => e.workflowExecutionSignaledEventAttributes) ?? [];
    expect(signals.length).toBeGreaterThanOrEqual(2);
    expect(signals.length).toBeLessThan(20); // a hundred and two were asked for
  });
});

describe('Temporal down and back, under processes of their own', () => {
  let database: Awaited<ReturnType<typeof createPostgresDatabase>>;
  let fleet: Fleet;
  let gateway: GatewayProc;
  beforeAll(async () => {
    database = await createPostgresDatabase();
    fleet = await startFleet({
      postgresUrl: database.url,
      temporalAddress: `127.0.0.1:${port}`,
    });
    await fleet.migrate();
    [gateway] = await Promise.all([fleet.gateway(), fleet.worker()]);
  });
  afterAll(async () => {
    await fleet.stop();
    await database.drop();
  });

  test('A3 C2 a running turn is answered meanwhile, new ones are 202 and go on; keys replay the same bytes', async () => {
    const key = { 'idempotency-key': 'k' };
    const first = await gateway.chat('down', 'one', key);
    const running = gateway.chat('down', 'delay=1500 two');
    await fleet.model.until(() => fleet.model.count('two') === 1);
    await server.stop();
    expect((await running).json).toMatchObject({ status: 'committed', version: 2 });
    const accepted = await gateway.chat('down', 'three', { 'idempotency-key': 'k3' });
    expect(accepted.status).toBe(202);
    expect((await gateway.get('/readyz')).json).toMatchObject({ not_ready: ['temporal'] });
    expect((await gateway.chat('down', 'one', key)).text).toBe(first.text);
    await loseEverything();
    await start([]);
    const three = await until('the turn to be answered', async () => {
      const answer = await gateway.chat('down', 'three', { 'idempotency-key': 'k3' });
      return answer.status === 200 ? answer : undefined;
    });
    expect(three.json).toMatchObject({ turn_id: accepted.json.turn_id, version: 3 });
    expect((await gateway.chat('down', 'one', key)).text).toBe(first.text);
    const rows = await turnRows(database.url, 'down');
    expect(brokenRules(rows)).toEqual([]);
    expect(fleet.model.count('two')).toBe(1);
  });
});
