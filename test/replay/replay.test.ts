import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { AIMessage } from '@langchain/core/messages';
import { historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { Worker } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { workflowIdOf } from '../../contracts/protocol.js';
import { installRuntime } from '../../temporal/runtime.js';
import { bundlePath, durable, loaded } from '../support/durable.js';
import type { Durable } from '../support/durable.js';
import { startTestTemporal } from '../support/temporal-server.js';
import { until } from '../support/until.js';

type History = ReturnType<typeof historyFromJSON>;

/** One history per shape that the workflow ever had; `RECORD_HISTORIES=<label> npm test -- test/replay` adds those of today. */
const folder = path.resolve('test/replay/histories');
const stored = readdirSync(folder).filter((file) => file.endsWith('.json'));
const storedHistory = (file: string): History =>
  historyFromJSON(JSON.parse(readFileSync(path.join(folder, file), 'utf8')));

/** The store id of a stored history; replay takes the thread from the workflow id. */
const workflowId = workflowIdOf({ tenant: 'default', threadId: 'replayed', store: 'stored1' });
const replay = (history: History): Promise<void> =>
  Worker.runReplayHistory({ workflowBundle: { codePath: bundlePath } }, history, workflowId);

const graph = new StateGraph(MessagesAnnotation)
  .addNode('answer', () => ({ messages: [new AIMessage('yes')] }))
  .addEdge(START, 'answer')
  .compile();

let temporal: Awaited<ReturnType<typeof startTestTemporal>>;
let system: Durable;
beforeAll(async () => {
  installRuntime(() => undefined);
  temporal = await startTestTemporal();
  const graphs = [loaded('yes', graph)];
  system = await durable({ address: temporal.address, graphs, threadIdleMs: 200 });
});
afterAll(async () => {
  await system.stop();
  await temporal.stop();
});

/** Shapes of a thread's life. Each leaves the thread's first run complete. */
const lives: Record<string, (threadId: string) => Promise<void>> = {
  'one turn, then hibernation': async (id) => {
    await system.settled(await system.post(id, 'a'));
  },
  'turns one by one': async (id) => {
    for (const text of ['a', 'b', 'c']) await system.settled(await system.post(id, text));
  },
  'turns at once': async (id) => {
    const turns = await Promise.all(['a', 'b', 'c', 'd'].map((text) => system.post(id, text)));
    await Promise.all(turns.map((turn) => system.settled(turn)));
  },
  'a worker restarted between turns': async (id) => {
    await system.settled(await system.post(id, 'a'));
    await system.worker.stop();
    const turn = await system.post(id, 'b');
    await system.startWorker();
    await system.settled(turn);
  },
  'deleted, then woken': async (id) => {
    await system.settled(await system.post(id, 'a'));
    const thread = { tenant: 'default', threadId: id };
    const deleted = await system.storage.threads.delete(thread);
    if (deleted.kind !== 'deleted') throw new Error(deleted.kind);
    await system.wake.wake({ thread, seq: deleted.nextSeq }, { start: false });
  },
};

describe('replay', () => {
  test.each(Object.keys(lives))('P2 a history made now replays: %s', async (name) => {
    const threadId = name.replaceAll(/[^a-z]+/g, '-');
    await lives[name]?.(threadId);
    const id = workflowIdOf({ tenant: 'default', threadId, store: system.storage.store });
    const handle = system.connection.client.workflow.getHandle(id);
    await until('the run to end', async () =>
      (await handle.describe()).status.name === 'RUNNING' ? undefined : true,
    );
    const history = await handle.fetchHistory();
    await replay(history);
    const label = process.env.RECORD_HISTORIES;
    if (label !== undefined)
      writeFileSync(path.join(folder, `${label}-${threadId}.json`), historyToJSON(history));
  });

  test('there are stored histories', () => {
    expect(stored.length).toBeGreaterThanOrEqual(Object.keys(lives).length);
  });

  test.each(stored)('P2 a stored history replays with the code of today: %s', async (file) => {
    await replay(storedHistory(file));
  });

  test('a history that the code does not explain is refused, so this check bites', async () => {
    const history = storedHistory(stored[0] ?? '');
    const scheduled = history.events?.find((e) => e.activityTaskScheduledEventAttributes);
    const type = scheduled?.activityTaskScheduledEventAttributes?.activityType;
    if (!type) throw new Error('no activity in the history');
    type.name = 'somethingElse';
    await expect(replay(history)).rejects.toThrow(DeterminismViolationError);
  });

  test('the workflow bundle holds no LangChain, no zod, no database', () => {
    const code = readFileSync(bundlePath, 'utf8');
    const modules = [...code.matchAll(/node_modules\/((?:@[\w.-]+\/)?[\w.-]+)/g)].map(
      ([, name]) => name,
    );
    expect(modules).toContain('@temporalio/workflow');
    for (const name of [
      '@langchain/core',
      '@langchain/langgraph',
      'zod',
      'pg',
      'better-sqlite3',
      'express',
    ])
      expect(modules).not.toContain(name);
  });
});
