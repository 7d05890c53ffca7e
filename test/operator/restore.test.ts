import { AIMessage } from '@langchain/core/messages';
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import path from 'node:path';
import { workflowIdOf } from '../../contracts/protocol.js';
import { backupStore } from '../../storage/backup.js';
import type { DurableTarget } from '../../storage/operator-store.js';
import { adoptRestored, restoreFile } from '../../storage/restore.js';
import { emptyTarget } from '../support/database.js';
import { durable, loaded } from '../support/durable.js';
import type { Durable } from '../support/durable.js';
import { startTestTemporal } from '../support/temporal-server.js';
import { until } from '../support/until.js';

const echo = new StateGraph(MessagesAnnotation)
  .addNode('answer', ({ messages }) => ({
    messages: [new AIMessage(`seen ${messages.length}: ${messages.at(-1)?.text ?? ''}`)],
  }))
  .addEdge(START, 'answer')
  .compile();

/** A forgotten turn is found soon, so that a test need not wait half a minute. */
const sweep = { everyMs: 200, quietMs: 500 };
const thread = { tenant: 'default', threadId: 'rewound' };

describe('a store restored to an earlier time, on a real Temporal server', () => {
  let temporal: Awaited<ReturnType<typeof startTestTemporal>>;
  let place: Awaited<ReturnType<typeof emptyTarget>>;
  beforeAll(async () => {
    temporal = await startTestTemporal();
    place = await emptyTarget('sqlite');
  });
  afterAll(async () => {
    await place.remove();
    await temporal.stop();
  });

  const start = (taskQueue?: string): Promise<Durable> =>
    durable({
      address: temporal.address,
      target: place.target,
      graphs: [loaded('echo', echo)],
      sweep,
      ...(taskQueue !== undefined && { taskQueue }),
    });

  test('O4 P1 the old runs end and change nothing; pending turns are taken up under the new store', async () => {
    const before = await start();
    await before.settled(await before.post(thread.threadId, 'kept'));
    await before.worker.stop();
    const pending = await before.post(thread.threadId, 'pending at the backup');
    const target = place.target as Extract<DurableTarget, { kind: 'sqlite' }>;
    const copy = path.join(path.dirname(target.path), 'copy.db');
    await backupStore(target.path, copy);
    await before.startWorker();
    await before.settled(pending);
    const lost = await before.settled(await before.post(thread.threadId, 'will be lost'));
    expect(lost.version).toBe(3);
    await before.stop();

    const restored = await restoreFile(target.path, copy);
    const after = await start(before.taskQueue);
    expect(after.storage.store).toBe(restored.store);
    const taken = await after.settled(pending);
    expect(taken).toMatchObject({ status: 'committed', version: 2 });
    expect(await after.storage.turns.get(thread, lost.turnId)).toBeUndefined();

    const { workflow } = after.connection.client;
    const old = workflow.getHandle(workflowIdOf({ ...thread, store: restored.before }));
    await old.signal('turn', { seq: 99 });
    const ended = await until('the old run to end', async () => {
      const { status } = await old.describe();
      return status.name === 'RUNNING' ? undefined : status.name;
    });
    expect(ended).toBe('FAILED');
    expect(await after.storage.threads.get(thread)).toMatchObject({ version: 2, status: 'idle' });
    const present = workflow.getHandle(workflowIdOf({ ...thread, store: restored.store }));
    expect((await present.describe()).status.name).toBe('RUNNING');
    await after.stop();
  });

  test('O4 a turn that builds on a version which the restore took back is refused', async () => {
    const { storage, stop } = await start();
    const accepted = await storage.turns.accept({
      thread,
      turnId: '00000000-0000-4000-8000-000000000001',
      ...{ defaultGraph: 'echo', digest: 'v1:x', multitask: 'enqueue', maxPending: 10 },
      ...{ input: { kind: 'message', text: 'on version 3' }, stream: false, ifVersion: 3 },
    });
    expect(accepted).toEqual({ kind: 'base_changed', version: 2 });
    await stop();
    const again = await adoptRestored(place.target as DurableTarget);
    expect(again.unsettled).toBe(0);
  });
});
