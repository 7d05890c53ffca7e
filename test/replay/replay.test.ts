import { Annotation, interrupt, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { AIMessage } from '@langchain/core/messages';
import { defaultPayloadConverter } from '@temporalio/common';
import { historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { Worker } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { turnSignalName, workflowIdOf } from '../../contracts/protocol.js';
import { installRuntime } from '../../temporal/runtime.js';
import { bundlePath, durable, loaded } from '../support/durable.js';
import type { Durable } from '../support/durable.js';
import { startTestTemporal } from '../support/temporal-server.js';
import { until } from '../support/until.js';

type History = ReturnType<typeof historyFromJSON>;

/** One history per shape that the workflow ever had; `RECORD_HISTORIES=<label> npm test -- test/replay` adds those of today. */
const folder = path.resolve('test/replay/histories');
const stored = readdirSync(folder).filter((file) => file.endsWith('.json.gz'));
const storedHistory = (file: string): History =>
  historyFromJSON(JSON.parse(gunzipSync(readFileSync(path.join(folder, file))).toString('utf8')));

/** The store id of a stored history; replay takes the thread from the workflow id. */
const workflowId = workflowIdOf({ tenant: 'default', threadId: 'replayed', store: 'stored1' });
const replay = (history: History): Promise<void> =>
  Worker.runReplayHistory({ workflowBundle: { codePath: bundlePath } }, history, workflowId);

const graph = new StateGraph(MessagesAnnotation)
  .addNode('answer', () => ({ messages: [new AIMessage('yes')] }))
  .addEdge(START, 'answer')
  .compile();

const asking = new StateGraph(Annotation.Root({ answer: Annotation<string> }))
  .addNode('ask', () => ({ answer: String(interrupt('which one?')) }))
  .addEdge(START, 'ask')
  .compile();
const sliced = new StateGraph(MessagesAnnotation)
  .addNode('one', () => ({ messages: [new AIMessage('1')] }))
  .addNode('two', () => ({ messages: [new AIMessage('2')] }))
  .addEdge(START, 'one')
  .addEdge('one', 'two')
  .compile();
const failing = new StateGraph(MessagesAnnotation)
  .addNode('break', () => {
    throw new Error('broken');
  })
  .addEdge(START, 'break')
  .compile();
/** What the node of `waiting` waits for. */
const gate = { entered: false, open: (): void => undefined };
const waiting = new StateGraph(MessagesAnnotation)
  .addNode('wait', async () => {
    gate.entered = true;
    await new Promise<void>((resolve) => (gate.open = resolve));
    return { messages: [new AIMessage('at last')] };
  })
  .addEdge(START, 'wait')
  .compile();

let temporal: Awaited<ReturnType<typeof startTestTemporal>>;
let system: Durable;
beforeAll(async () => {
  installRuntime(() => undefined);
  temporal = await startTestTemporal();
  const graphs = [
    loaded('yes', graph),
    loaded('asking', asking),
    loaded('failing', failing),
    loaded('waiting', waiting),
    { ...loaded('sliced', sliced), slice: 'superstep' as const },
    loaded('placed', graph),
  ];
  const placed = { queues: ['main', 'gpu'], places: new Map([['placed', 'gpu']]) };
  system = await durable({ address: temporal.address, graphs, threadIdleMs: 200, placed });
});
afterAll(async () => {
  await system.stop();
  await temporal.stop();
});

const keyOf = (threadId: string) => ({ tenant: 'default', threadId });
const handleOf = (threadId: string, runId?: string) => {
  const id = workflowIdOf({ ...keyOf(threadId), store: system.storage.store });
  return system.connection.client.workflow.getHandle(id, runId);
};
/** Starts a turn of `waiting` and waits until its node runs. */
async function held(threadId: string) {
  gate.entered = false;
  const turn = await system.post(threadId, 'a', { graph: 'waiting' });
  await until('the node to run', () => gate.entered || undefined);
  return turn;
}

/** Shapes of a thread's life. Each leaves a run complete: the last one, or the one whose id it gives. */
const lives: Record<string, (threadId: string) => Promise<unknown>> = {
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
  'deleted while a turn runs': async (id) => {
    await held(id);
    const deleted = await system.storage.threads.delete(keyOf(id));
    if (deleted.kind !== 'deleted') throw new Error(deleted.kind);
    await system.wake.wake({ thread: keyOf(id), seq: deleted.nextSeq }, { start: false });
    gate.open();
  },
  'an interrupt and its resume': async (id) => {
    const input = { kind: 'input', value: {} } as const;
    await system.settled(await system.post(id, input, { graph: 'asking' }));
    await system.settled(await system.post(id, { kind: 'resume', value: 'red' }));
  },
  'turns on a task queue of their own': async (id) => {
    for (const text of ['a', 'b'])
      await system.settled(await system.post(id, text, { graph: 'placed' }));
  },
  'yields after each superstep': async (id) => {
    await system.settled(await system.post(id, 'a', { graph: 'sliced' }));
  },
  'a turn that fails after retries, then another one': async (id) => {
    await system.settled(await system.post(id, 'a', { graph: 'failing' }));
    await system.settled(await system.post(id, 'b'));
  },
  'a running turn is cancelled': async (id) => {
    const turn = await held(id);
    await system.storage.turns.cancel(turn.thread, turn.turnId);
    gate.open();
    await system.settled(turn);
  },
  'a long run continues as new': async (id) => {
    const turn = await held(id);
    const { runId } = await handleOf(id).describe();
    for (let sent = 0; sent < 300; sent += 50)
      await Promise.all(
        Array.from({ length: 50 }, () => handleOf(id).signal(turnSignalName, { seq: turn.seq })),
      );
    gate.open();
    await system.settled(turn);
    return runId;
  },
  'signals that are malformed, doubled and late': async (id) => {
    const turn = await held(id);
    for (const signal of [undefined, 'x', { seq: -1 }, { seq: turn.seq }, { seq: 99 }])
      await handleOf(id).signal(turnSignalName, signal);
    gate.open();
    await system.settled(turn);
  },
};

const traceparent = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`;
const payloadOf = (value: unknown) => defaultPayloadConverter.toPayload(value);

describe('replay', () => {
  test.each(Object.keys(lives))('P2 a history made now replays: %s', async (name) => {
    const threadId = name.replaceAll(/[^a-z]+/g, '-');
    const runId = await lives[name]?.(threadId);
    const handle = handleOf(threadId, typeof runId === 'string' ? runId : undefined);
    await until('the run to end', async () =>
      (await handle.describe()).status.name === 'RUNNING' ? undefined : true,
    );
    const history = await handle.fetchHistory();
    await replay(history);
    const label = process.env.RECORD_HISTORIES;
    if (label !== undefined)
      writeFileSync(
        path.join(folder, `${label}-${threadId}.json.gz`),
        gzipSync(historyToJSON(history), { level: 9 }),
      );
  });

  test('there are stored histories', () => {
    expect(stored.length).toBeGreaterThanOrEqual(Object.keys(lives).length);
  });

  test.each(stored)('P2 a stored history replays with the code of today: %s', async (file) => {
    await replay(storedHistory(file));
  });

  test.each(stored.filter((file) => file.startsWith('v2')))(
    'P2 O10 it replays as well when its signals bring traces: %s',
    async (file) => {
      const history = storedHistory(file);
      const header = { fields: { '_tracer-data': payloadOf({ traceparent }) } };
      for (const event of history.events ?? []) {
        const { workflowExecutionSignaledEventAttributes: signaled } = event;
        if (signaled) signaled.header = header;
        const { workflowExecutionStartedEventAttributes: started } = event;
        if (started)
          started.header = { fields: { 'everthread-trace-1': payloadOf({ traceparent }) } };
      }
      await replay(history);
    },
  );

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
