/** What a start does for the turns that the last process was in when it was killed (DESIGN 9). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Context } from '@temporalio/activity';
import { Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { threadWorkflowType, turnSignalName, workflowIdOf } from '../../contracts/protocol.js';
import type { RunTurnResult } from '../../contracts/protocol.js';
import { connectTemporal } from '../../temporal/connection.js';
import type { TemporalConnection } from '../../temporal/connection.js';
import { freeStarted } from '../../temporal/predecessor.js';
import { takeOver } from '../../worker/take-over.js';
import { bundlePath } from '../support/durable.js';
import { startTestTemporal } from '../support/temporal-server.js';

const thread = { tenant: 'default', threadId: 'left' };
const workflowId = workflowIdOf({ ...thread, store: 'store' });
const committed: RunTurnResult = {
  ...{ status: 'committed', seq: 1, settledThrough: 1, more: false, idleMs: 0 },
};
let temporal: Awaited<ReturnType<typeof startTestTemporal>>;
let connection: TemporalConnection;
beforeAll(async () => {
  temporal = await startTestTemporal();
  const { address, namespace } = temporal;
  connection = await connectTemporal({ address, namespace, security: {} });
});
afterAll(async () => {
  await connection.close();
  await temporal.stop();
});

describe('what a dead predecessor held', () => {
  // The first try reports for as long as it is not cut off, so no time-out of Temporal's can be what ends it.
  test('T2 P4 a started activity is tried again at once', async () => {
    const tries: number[] = [];
    let begun = (): void => undefined;
    const first = new Promise<void>((resolve) => (begun = resolve));
    const runTurn = async (): Promise<RunTurnResult> => {
      const { info, heartbeat, cancelled } = Context.current();
      tries.push(info.attempt);
      if (info.attempt > 1) return committed;
      const reporting = setInterval(heartbeat, 500);
      begun();
      return await cancelled.finally(() => clearInterval(reporting));
    };
    const worker = await Worker.create({
      connection: connection.native,
      taskQueue: 'left',
      workflowBundle: { codePath: bundlePath },
      activities: { runTurn },
    });
    const wake = async (): Promise<void> => {
      await connection.client.workflow.signalWithStart(threadWorkflowType, {
        ...{ workflowId, taskQueue: 'left', args: [] },
        ...{ signal: turnSignalName, signalArgs: [{ seq: 1 }] },
      });
    };
    await worker.runUntil(async () => {
      await wake();
      await first;
      await takeOver({
        claims: { takeQuiet: () => Promise.resolve([{ thread, seq: 1, graph: 'echo' }]) },
        free: () => freeStarted(connection.client, workflowId),
        wake,
        log: pino({ level: 'silent' }),
      });
      await connection.client.workflow.getHandle(workflowId).result();
    });
    expect(tries).toEqual([1, 2]);
  });

  test('T2 where nothing is held, a thread is only woken', async () => {
    await freeStarted(connection.client, workflowId);
    await freeStarted(connection.client, 'nobody');
  });
});
