/** Processes that stand still and go on later, and processes whose clocks are wrong: the database's row and its clock decide. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import path from 'node:path';
import { createPostgresDatabase, onPostgres } from '../support/database.js';
import { cuttingProxy } from '../support/cutting-proxy.js';
import type { CuttingProxy } from '../support/cutting-proxy.js';
import type { Proc } from '../support/processes.js';
import { startTestTemporal } from '../support/temporal-server.js';
import type { TestTemporal } from '../support/temporal-server.js';
import { until } from '../support/until.js';
import { allSettled, brokenRules, startFleet, turnRows } from './fleet.js';
import type { Fleet, GatewayProc } from './fleet.js';

let temporal: TestTemporal;
let database: Awaited<ReturnType<typeof createPostgresDatabase>>;
let proxy: CuttingProxy;
let fleet: Fleet;
let gateway: GatewayProc;
beforeAll(async () => {
  [temporal, database] = await Promise.all([startTestTemporal(), createPostgresDatabase()]);
  proxy = await cuttingProxy(database.url);
  fleet = await startFleet({ postgresUrl: database.url, temporalAddress: temporal.address });
  await fleet.migrate();
  gateway = await fleet.gateway();
});
afterAll(async () => {
  await fleet.stop();
  await proxy.close();
  await temporal.stop();
  await database.drop();
});

/** Workers of one test; the next one begins without any. */
const hired: Proc[] = [];
const hire = async (options: Parameters<Fleet['worker']>[0] = {}): Promise<Proc> => {
  const worker = await fleet.worker(options);
  hired.push(worker);
  return worker;
};
afterEach(async () => {
  for (const worker of hired) worker.child.kill('SIGCONT');
  await Promise.all(hired.splice(0).map((worker) => worker.end('SIGKILL')));
});

/** Everything that the thread has in the database. */
const rowsOf = (thread: string): Promise<unknown> =>
  onPostgres(database.url, async (client) => {
    const tables = ['et_threads', 'et_turns', 'et_checkpoints', 'et_writes', 'et_drafts'];
    const found: unknown[] = [];
    for (const table of tables) {
      const { rows } = await client.query<{ row: string }>(
        `SELECT t::text AS row FROM ${table} t WHERE thread_id = $1`,
        [thread],
      );
      found.push(rows.map(({ row }) => row).sort());
    }
    return found;
  });

/** What a viewer has been told so far. */
async function view(
  thread: string,
  message: string,
): Promise<{ readonly text: () => string; readonly end: Promise<void> }> {
  const response = await fetch(`${gateway.url}/v1/chat`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      'x-thread-id': thread,
    },
    body: JSON.stringify({ message }),
  });
  let text = '';
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const part of response.body as AsyncIterable<Uint8Array>)
      text += decoder.decode(part, { stream: true });
  };
  return { text: () => text, end: read() };
}
const tokensOf = (events: string): string =>
  [...events.matchAll(/^event: token\ndata: (.*)$/gm)]
    .map(([, data = '{}']) => (JSON.parse(data) as { text: string }).text)
    .join('');

describe('a worker that stands still for longer than a heartbeat', () => {
  test('C6 P10 another one takes over; awake again it writes no row, shows no token, and goes on working', async () => {
    const zombie = await hire();
    const words = Array.from({ length: 40 }, (_, n) => `word${n}`).join(' ');
    const message = `gap=150 say=${encodeURIComponent(words)}`;
    const viewer = await view('zombie', message);
    await until('its first tokens', () => viewer.text().includes('event: token') || undefined);
    zombie.child.kill('SIGSTOP');
    const heir = await hire();
    await fleet.model.until(() => fleet.model.count('word0') === 2);
    await until(
      'the heir to stream',
      () => /event: reset[^]*event: token/.test(viewer.text()) || undefined,
    );
    zombie.child.kill('SIGCONT'); // in the middle of the heir's stream
    await viewer.end;
    const told = viewer.text();
    expect(told.match(/^event: reset$/gm)).toHaveLength(1);
    expect(tokensOf(told.slice(told.indexOf('event: reset')))).toBe(words);
    expect(told.match(/^event: done$/gm)).toHaveLength(1);
    const [row] = await turnRows(database.url, 'zombie');
    expect(row).toMatchObject({ status: 'committed', version: 1, fence: 2, losses: 1 });
    expect(fleet.model.count('word0')).toBe(2);
    const rows = await rowsOf('zombie');
    await heir.end();
    // The zombie alone serves now, so whatever it still had to do about the first turn is done before this is.
    expect((await gateway.chat('after-zombie', 'hello')).json.response).toBe('seen 1: hello');
    expect(await rowsOf('zombie')).toEqual(rows);
    expect(zombie.alive()).toBe(true);
  });

  test('P4 frozen inside a transaction it does not hold the thread: the server ends it, others go on', async () => {
    const frozen = await hire({ env: { EVERTHREAD_POSTGRES_URL: proxy.url } });
    // Its first write after the model has answered is the commit of the turn: the server has the rows and the lock, and
    // never sees the COMMIT.
    const answered = (): boolean =>
      fleet.model.calls.some((call) => call.last === 'delay=300 one' && call.answered);
    const held = new Promise<void>((done) =>
      proxy.onWrite(() => {
        if (!answered()) return 'pass';
        frozen.child.kill('SIGSTOP');
        done();
        return 'hold';
      }),
    );
    const id = await gateway.accept('inside', 'delay=300 one');
    await held;
    proxy.onWrite(() => 'pass');
    const frozenAt = performance.now();
    await until('the thread to take a turn', async () => {
      const { status } = await gateway.chat('inside', 'two', { prefer: 'respond-async' });
      if (status !== 503 && status !== 202) throw new Error(String(status));
      return status === 202 ? true : undefined;
    });
    expect(performance.now() - frozenAt).toBeLessThan(15_000); // idle in transaction: 5 s
    await hire();
    const rows = await allSettled(database.url, 'inside');
    expect(brokenRules(rows)).toEqual([]);
    expect(rows).toHaveLength(2);
    // Two, unless the model's superstep was flushed before the write that froze.
    expect([1, 2]).toContain(fleet.model.count('delay=300 one'));
    frozen.child.kill('SIGCONT');
    await hired.pop()?.end();
    expect((await gateway.chat('after-inside', 'hello')).json.response).toBe('seen 1: hello');
    expect(brokenRules(await turnRows(database.url, 'inside'))).toEqual([]);
    expect((await gateway.get(`/v1/threads/inside/turns/${id}`)).json).toMatchObject({
      version: 1,
    });
  });
});

describe('a gateway that stands still', () => {
  test('A3 its turn commits meanwhile, and its client gets the committed reply when it goes on', async () => {
    await hire();
    const waiting = gateway.chat('still', 'delay=300 still here');
    await fleet.model.until(() => fleet.model.count('still here') === 1);
    gateway.child.kill('SIGSTOP');
    const [row] = await allSettled(database.url, 'still').finally(() =>
      gateway.child.kill('SIGCONT'),
    );
    const answer = await waiting;
    expect(answer.json).toMatchObject({ status: 'committed', version: 1, response: row?.response });
  });
});

describe('W30 clocks that are three hours wrong', () => {
  const hoursOff = (hours: number, env: Record<string, string> = {}) => ({
    nodeFlags: ['--import', path.resolve('test/support/shift-clock.mjs')],
    env: { CLOCK_SHIFT_MS: String(hours * 3_600_000), ...env },
  });

  test.each([
    ['ahead', 'behind', 3],
    ['behind', 'ahead', -3],
  ])(
    'T1 T2 a gateway %s of its workers that are %s: turns, keys, deadlines and streams are right',
    async (how, _, hours) => {
      // One worker: a second one would be as wrong as the first, and so agree with it.
      const [off] = await Promise.all([
        fleet.gateway(hoursOff(hours)),
        hire(hoursOff(-hours, { EVERTHREAD_TURN_TIMEOUT: '2s' })),
      ]);
      const key = { 'idempotency-key': 'k' };
      const first = await off.chat(`clock-${how}`, 'one', key);
      expect(first.json).toMatchObject({ status: 'committed', response: 'seen 1: one' });
      const [two, three] = await Promise.all([
        off.chat(`clock-${how}`, 'delay=200 two'),
        gateway.chat(`clock-${how}`, 'three'),
      ]);
      expect([two.json.response, three.json.response].sort()).toEqual([
        expect.stringMatching(/^seen 2/),
        expect.stringMatching(/^seen 3/),
      ]);
      const replay = await gateway.chat(`clock-${how}`, 'one', key);
      expect(replay.text).toBe(first.text);
      // A deadline is neither over at once nor three hours away.
      const lateAt = performance.now();
      const late = await off.chat(`clock-${how}`, 'hang=1 late');
      expect(late.json).toMatchObject({ code: 'turn_failed', failure: 'turn_deadline' });
      expect(performance.now() - lateAt).toBeGreaterThan(1_500);
      expect(performance.now() - lateAt).toBeLessThan(20_000);
      expect(hired.every((worker) => !worker.log().includes('signalled quiet threads'))).toBe(true);
      await off.end();
    },
  );
});
