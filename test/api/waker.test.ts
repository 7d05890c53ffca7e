import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { temporalWaker, type Waker } from '../../api/waker.js';
import { workflowIdOf } from '../../contracts/protocol.js';
import { startTestTemporal, type TestTemporal } from '../support/temporal-server.js';

let server: TestTemporal;
let connection: Connection;
let client: Client;
let waker: Waker;
const store = 'store1';
beforeAll(async () => {
  server = await startTestTemporal();
  connection = await Connection.connect({ address: server.address });
  client = new Client({ connection, namespace: server.namespace });
  waker = temporalWaker(client, { taskQueue: 'nobody-works', store, searchAttributes: false });
});
afterAll(async () => {
  await connection.close();
  await server.stop();
});

const thread = (threadId: string) => ({ tenant: 'default', threadId });
const handle = (threadId: string) =>
  client.workflow.getHandle(workflowIdOf({ ...thread(threadId), store }));

describe('waking a thread in Temporal', () => {
  test('P1 P2 opens one run under the id of the thread; each wake is a signal of ids', async () => {
    const turn = { thread: thread('w:1'), graph: 'agent' };
    await waker.wake({ ...turn, turnId: 'turn-1', seq: 1 }, { start: true });
    await waker.wake({ ...turn, turnId: 'turn-2', seq: 2 }, { start: true });
    const { events } = await handle('w:1').fetchHistory();
    const started = events?.[0]?.workflowExecutionStartedEventAttributes;
    expect(started?.workflowType?.name).toBe('thread');
    expect(started?.input?.payloads ?? []).toEqual([]);
    expect(Number(started?.workflowExecutionTimeout?.seconds ?? 0)).toBe(0);
    const signals = (events ?? []).flatMap((e) => {
      const signal = e.workflowExecutionSignaledEventAttributes;
      const data = signal?.input?.payloads?.[0]?.data;
      return data ? [[signal?.signalName, JSON.parse(Buffer.from(data).toString())]] : [];
    });
    expect(signals).toEqual([
      ['turn', { turn_id: 'turn-1', seq: 1 }],
      ['turn', { turn_id: 'turn-2', seq: 2 }],
    ]);
    const { staticSummary } = (await handle('w:1').describe()) as { staticSummary?: unknown };
    const summary =
      typeof staticSummary === 'function' ? ((await staticSummary()) as unknown) : staticSummary;
    expect(summary ?? 'thread w:1 of default').toBe('thread w:1 of default');
  });

  test('P8 the wake after a delete starts nothing, and a missing run is fine', async () => {
    await waker.wake({ thread: thread('gone'), seq: 3 }, { start: false });
    await expect(handle('gone').describe()).rejects.toThrow();
  });

  test('a Temporal that is down is an error within the deadline', async () => {
    const lazy = Connection.lazy({ address: '127.0.0.1:1' });
    const down = temporalWaker(new Client({ connection: lazy }), {
      ...{ taskQueue: 'q', store, searchAttributes: false },
    });
    const turn = { thread: thread('w'), turnId: 't', seq: 1 };
    await expect(down.wake(turn, { start: true })).rejects.toThrow();
    await lazy.close();
  });
});
