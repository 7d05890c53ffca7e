/** Threads that live long: signal bursts at the border of continue-as-new, and hibernation between any two turns. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { turnSignalName, workflowIdOf } from '../../contracts/protocol.js';
import { longRun } from '../../workflows/thread-state.js';
import type { TurnRecord } from '../../storage/port.js';
import { durable, forgivingWaker, loaded } from '../support/durable.js';
import type { Durable } from '../support/durable.js';
import { startTestTemporal } from '../support/temporal-server.js';
import { gatedEcho } from '../support/gated-echo.js';
import { until } from '../support/until.js';

/** Longer runs for a person who has time: `EVERTHREAD_TEST_LONG=1`. */
const long = process.env.EVERTHREAD_TEST_LONG !== undefined;
const limitMs = long ? 3_600_000 : 120_000;

function tell(what: string, since: number): void {
  const seconds = ((performance.now() - since) / 1_000).toFixed(1);
  if (long) process.stderr.write(`${what} in ${seconds} s\n`);
}

const { graph: echo, gates, ran } = gatedEcho();

let temporal: Awaited<ReturnType<typeof startTestTemporal>>;
let system: Durable;
beforeAll(async () => {
  temporal = await startTestTemporal();
  system = await durable({ address: temporal.address, graphs: [loaded('echo', echo)] });
});
afterAll(async () => {
  await system.stop();
  await temporal.stop();
});

const idOf = (threadId: string, { storage } = system): string =>
  workflowIdOf({ tenant: 'default', threadId, store: storage.store });

/**
 * A thread that holds thousands of signals comes to its turns when it has been through them. So does one of ten that all
 * replay a long run on a busy machine: no limit but the test's own says that it is lost.
 */
const settled = (turn: TurnRecord, { storage } = system): Promise<TurnRecord> =>
  until(
    `turn ${turn.seq} of ${turn.thread.threadId}`,
    async () => {
      const row = await storage.turns.get(turn.thread, turn.turnId);
      return row !== undefined && row.settledAtMs !== null ? row : undefined;
    },
    limitMs / 2,
  );

/** Sends wakes as an impatient client does, many at once. */
async function signal(threadId: string, count: number, seq: number): Promise<void> {
  const handle = system.connection.client.workflow.getHandle(idOf(threadId));
  for (let sent = 0; sent < count; sent += 50)
    await Promise.all(
      Array.from({ length: Math.min(50, count - sent) }, () =>
        handle.signal(turnSignalName, { seq }),
      ),
    );
}

/** Number of history events of each run of the thread, oldest first. */
async function runsOf(threadId: string): Promise<number[]> {
  const { client } = system.connection;
  const found: { at: number; events: number }[] = [];
  for await (const run of client.workflow.list({ query: `WorkflowId = '${idOf(threadId)}'` })) {
    const { events } = await client.workflow.getHandle(run.workflowId, run.runId).fetchHistory();
    found.push({ at: run.startTime.getTime(), events: events?.length ?? 0 });
  }
  return found.sort((a, b) => a.at - b.at).map(({ events }) => events);
}

describe('P2 signals to a busy thread', () => {
  test.each(long ? [101, 1_200, 5_000, 10_050] : [101, 1_200])(
    '%d wakes while a turn runs: no turn is lost or run twice, and the next run is short',
    async (count) => {
      const thread = `busy-${count}`;
      const gated = `gated ${count}`;
      let open = (): void => undefined;
      gates.set(gated, new Promise((resolve) => (open = resolve)));
      const first = await system.post(thread, gated);
      await until('the node to run', () => (ran.includes(gated) ? true : undefined));
      const behind = await Promise.all(
        Array.from({ length: 5 }, (_, n) => system.post(thread, `${thread} n${n}`)),
      );
      const startedAt = performance.now();
      // Past the server's limit for one run it refuses signals; whoever sent them is told, and nothing else happens.
      await signal(thread, count, 6).catch((error: unknown) => {
        if (count < 10_000) throw error;
      });
      open();
      const rows = await Promise.all([first, ...behind].map((turn) => settled(turn)));
      for (const row of rows) expect(row.response).toMatch(new RegExp(`^seen ${row.seq}: `));
      const last = await settled(await system.post(thread, `${thread} last`));
      expect(last).toMatchObject({ seq: 7, version: 7, status: 'committed' });
      expect(ran.filter((text) => text === gated || text.startsWith(`${thread} `))).toHaveLength(7);
      tell(`${count} wakes and 7 turns`, startedAt);
      if (count < longRun.events) return;
      // It continued as new as soon as nothing was in flight, and did not take the burst along.
      const events = await until('the new run', async () => {
        const runs = await runsOf(thread);
        return runs.length >= 2 ? runs : undefined;
      });
      expect(events.at(-1)).toBeLessThan(120);
    },
    limitMs,
  );

  test('a burst of 200 wakes and 20 turns just when the run has become long: all settle, in order', async () => {
    const thread = 'threshold';
    let open = (): void => undefined;
    gates.set('at the threshold', new Promise((resolve) => (open = resolve)));
    const turns = [await system.post(thread, 'at the threshold')];
    await until('the node to run', () => (ran.includes('at the threshold') ? true : undefined));
    await signal(thread, longRun.events, 1);
    const burst = signal(thread, 200, 2);
    const posted = Promise.all(
      Array.from({ length: 20 }, (_, n) => system.post(thread, `${thread} n${n}`)),
    );
    open();
    turns.push(...(await posted));
    await burst;
    const rows = await Promise.all(turns.map((turn) => system.settled(turn)));
    for (const row of rows) expect(row.response).toMatch(new RegExp(`^seen ${row.seq}: `));
    expect(rows.map((row) => row.version).sort((a, b) => Number(a) - Number(b))).toEqual(
      rows.map((_, n) => n + 1),
    );
    expect(ran.filter((text) => text.startsWith(`${thread} `))).toHaveLength(20);
  });
});

/** Timers of the thread's last run that have neither fired nor been cancelled. */
async function openTimers(workflowId: string): Promise<number> {
  const { events } = await system.connection.client.workflow.getHandle(workflowId).fetchHistory();
  const count = (kind: 'timerStarted' | 'timerFired' | 'timerCanceled'): number =>
    (events ?? []).filter((event) => event[`${kind}EventAttributes`]).length;
  return count('timerStarted') - count('timerFired') - count('timerCanceled');
}

describe('T6 hibernation between any two turns', () => {
  const turnsInAll = long ? 10_000 : 240;
  const threads = 10;

  test(
    `${turnsInAll} turns with an idle time of 30 ms: none lost, none twice; afterwards no run and no timer is open and nothing is cached`,
    async () => {
      const sleepy = await durable({
        address: temporal.address,
        graphs: [loaded('echo', echo)],
        threadIdleMs: 30,
        wrap: { waker: forgivingWaker },
      });
      const perThread = turnsInAll / threads;
      const startedAt = performance.now();
      const live = async (threadId: string): Promise<void> => {
        for (let n = 1; n <= perThread; n += 1) {
          const row = await settled(await sleepy.post(threadId, `${threadId} n${n}`), sleepy);
          if (n % 200 === 0) tell(`turn ${n} of ${threadId}`, startedAt);
          expect(row.response).toBe(`seen ${n}: ${threadId} n${n}`);
          // From before the run is idle to well after it ended: each turn meets another moment of its falling asleep.
          await new Promise((done) => setTimeout(done, (n * 7) % 90));
        }
      };
      try {
        await Promise.all(Array.from({ length: threads }, (_, n) => live(`sleepy${n}`)));
        tell(`${turnsInAll} turns on ${threads} threads`, startedAt);
        expect(ran.filter((text) => text.startsWith('sleepy'))).toHaveLength(turnsInAll);
        const open = async (): Promise<number> => {
          const query = `TaskQueue = '${sleepy.taskQueue}' AND ExecutionStatus = 'Running'`;
          return (await sleepy.connection.client.workflow.count(query)).count;
        };
        await until('every run to end', async () => ((await open()) === 0 ? true : undefined));
        await until('the cache to be empty', () =>
          sleepy.worker.cached() === 0 ? true : undefined,
        );
        for (let n = 0; n < threads; n += 1)
          expect(await openTimers(idOf(`sleepy${n}`, sleepy))).toBe(0);
      } finally {
        await sleepy.stop();
      }
    },
    limitMs,
  );
});
