import { AIMessage } from '@langchain/core/messages';
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Worker } from '@temporalio/worker';
import { workflowIdOf } from '../../contracts/protocol.js';
import type { RunTurnResult } from '../../contracts/protocol.js';
import { queueStates } from '../../temporal/queue-states.js';
import type { WorkerSide } from '../../worker/worker-side.js';
import { bundlePath, durable, loaded } from '../support/durable.js';
import type { Durable } from '../support/durable.js';
import { startTestTemporal } from '../support/temporal-server.js';
import { until } from '../support/until.js';

const answering = new StateGraph(MessagesAnnotation)
  .addNode('answer', ({ messages }) => ({ messages: [new AIMessage(`${messages.length}`)] }))
  .addEdge(START, 'answer')
  .compile();

/** Soon, so that a test sees what happens then. */
const placeWaitMs = 400;
const places = new Map([['far', 'gpu']]);

let temporal: Awaited<ReturnType<typeof startTestTemporal>>;
let system: Durable;
const workers: WorkerSide[] = [];
beforeAll(async () => {
  temporal = await startTestTemporal();
  system = await durable({
    address: temporal.address,
    graphs: [loaded('near', answering), loaded('far', answering)],
    placed: { queues: ['main'], places, placeWaitMs },
  });
  workers.push(system.worker);
});
afterEach(async () => {
  for (const worker of workers.splice(1)) await worker.stop();
});
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  await system.connection.close();
  await system.storage.close();
  await temporal.stop();
});

const startGpu = async (): Promise<void> => {
  workers.push(await system.startWorker({ queues: ['gpu'], places, placeWaitMs }));
};
const gpuState = async () => {
  const { workflowService } = system.connection.client;
  const states = await queueStates(workflowService, 'default', {
    taskQueue: system.taskQueue,
    places,
  });
  return states.find(({ name }) => name === 'gpu');
};
const handleOf = (threadId: string, tenant = 'default') =>
  system.connection.client.workflow.getHandle(
    workflowIdOf({ tenant, threadId, store: system.storage.store }),
  );
const far = { graph: 'far' };

interface Scheduled {
  readonly queue: string;
  readonly tenant: string | undefined;
}
async function scheduledOf(threadId: string, tenant?: string): Promise<readonly Scheduled[]> {
  const { events } = await handleOf(threadId, tenant).fetchHistory();
  return (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: found }) =>
    found
      ? [{ queue: found.taskQueue?.name ?? '', tenant: found.priority?.fairnessKey ?? undefined }]
      : [],
  );
}
async function statusesOf(threadId: string): Promise<readonly string[]> {
  const { events } = await handleOf(threadId).fetchHistory();
  return (events ?? []).flatMap(({ activityTaskCompletedEventAttributes: found }) => {
    const data = found?.result?.payloads?.[0]?.data;
    return data ? [(JSON.parse(Buffer.from(data).toString()) as RunTurnResult).status] : [];
  });
}
const queuesOf = async (threadId: string) =>
  (await scheduledOf(threadId)).map(({ queue }) => queue.slice(system.taskQueue.length) || 'main');

describe('where turns run', () => {
  test('Q1 a placed graph runs on its queue: the first look asks the main one, later turns go straight', async () => {
    await startGpu();
    await system.settled(await system.post('placed', 'a', far));
    await system.settled(await system.post('placed', 'b', far));
    expect(await queuesOf('placed')).toEqual(['main', '.gpu', '.gpu']);
    await until(
      'both turns to be told',
      async () => (await statusesOf('placed')).length === 3 || undefined,
    );
    expect(await statusesOf('placed')).toEqual(['elsewhere', 'committed', 'committed']);
    await system.settled(await system.post('unplaced', 'a', { graph: 'near' }));
    expect(await queuesOf('unplaced')).toEqual(['main']);

    const history = await handleOf('placed').fetchHistory();
    await Worker.runReplayHistory(
      { workflowBundle: { codePath: bundlePath } },
      history,
      workflowIdOf({ tenant: 'default', threadId: 'placed', store: system.storage.store }),
    );
  });

  test('Q1 Q3 Q6 without a worker of its queue a turn waits, asks again, and runs when one comes', async () => {
    const turn = await system.post('waiting', 'a', far);
    await until('it to be asked for again', async () =>
      (await queuesOf('waiting')).length >= 4 ? true : undefined,
    );
    expect((await queuesOf('waiting')).slice(0, 4)).toEqual(['main', '.gpu', 'main', '.gpu']);
    expect(await system.storage.turns.get(turn.thread, turn.turnId)).toMatchObject({
      status: 'pending',
    });
    // The worker of the test before is remembered for as long as its last poll could be: its process lives.
    await until('nobody to serve the queue', async () =>
      (await gpuState())?.workers === 0 ? true : undefined,
    );
    expect(await gpuState()).toMatchObject({ taskQueue: `${system.taskQueue}.gpu` });
    await startGpu();
    expect(await system.settled(turn)).toMatchObject({ status: 'committed', response: '1' });
    expect(await gpuState()).toMatchObject({ workers: 1 });
  });

  test('Q1 P8 a deleted thread does not wait for a queue that nobody serves', async () => {
    const turn = await system.post('deleted', 'a', far);
    await until('it to be placed', async () => (await queuesOf('deleted')).length > 1 || undefined);
    const deleted = await system.storage.threads.delete(turn.thread);
    if (deleted.kind !== 'deleted') throw new Error(deleted.kind);
    await system.wake.wake({ thread: turn.thread, seq: deleted.nextSeq }, { start: false });
    await until('its run to end', async () =>
      (await handleOf('deleted').describe()).status.name === 'COMPLETED' ? true : undefined,
    );
  });

  test('Q4 tasks of a thread carry its tenant as their fairness key', async () => {
    const thread = { tenant: 'acme', threadId: 'fair' };
    await system.settled(await system.post('fair', 'a', { thread, graph: 'near' }));
    expect(await scheduledOf('fair', 'acme')).toEqual([
      { queue: system.taskQueue, tenant: 'acme' },
    ]);
    const { events } = await handleOf('fair', 'acme').fetchHistory();
    expect(events?.[0]?.workflowExecutionStartedEventAttributes?.priority?.fairnessKey).toBe(
      'acme',
    );
  });
});
