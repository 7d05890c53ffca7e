import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ChatOpenAI } from '@langchain/openai';
import { SystemMessage } from '@langchain/core/messages';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { createApp } from '../../api/app.js';
import { defaultSettings, identifyEverybody } from '../../api/deps.js';
import { listen } from '../../api/server.js';
import type { StorageTarget } from '../../storage/open.js';
import { durable as durableBackends, emptyTarget } from '../support/database.js';
import { durable, loaded } from '../support/durable.js';
import { faultsAt, faultyStorage, faultyWaker } from '../support/faults.js';
import { startTestTemporal, type TestTemporal } from '../support/temporal-server.js';
import { OpLog } from './ask.js';
import { checkHistory } from './check-history.js';
import { startJournaledModel, type JournaledModel } from './model.js';
import { lookInto } from './look-into.js';
import { random } from './random.js';
import { noteChanges, readStore, storeId } from './read-store.js';
import { room } from './rooms.js';
import { readBack, startClients, untilQuiet, type Target } from './session.js';
import { signaller } from './signaller.js';

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
});
afterAll(() => temporal.stop());

/** Two calls of the model, so that there is a flush between claim and commit. */
function twoSteps(model: JournaledModel) {
  const chat = new ChatOpenAI({
    ...{ model: 'scripted', maxRetries: 0, apiKey: 'test' },
    configuration: { baseURL: model.url },
  });
  const call =
    (step: string) =>
    async ({ messages }: typeof MessagesAnnotation.State) => ({
      messages: [await chat.invoke([new SystemMessage(step), ...messages])],
    });
  return new StateGraph(MessagesAnnotation)
    .addNode('plan', call('plan'))
    .addNode('answer', call('answer'))
    .addEdge(START, 'plan')
    .addEdge('plan', 'answer')
    .compile();
}

const seed = 20;
/** Each call of storage and Temporal meets each kind of fault so often. */
const rates = { before: 0.08, after: 0.08 };
/** Enough turns for some hundred faults; the run is bounded by what was done, not by the clock. */
const wantedReplies = 40;

/** The run ends by itself; this only ends one that hangs. */
const limitMs = 300_000;

/** A gateway and a worker in this process, both behind the fault port. */
async function startFaulty(target: StorageTarget) {
  const faults = faultsAt(rates, random(`${seed}/faults`).next);
  const model = await startJournaledModel({ drop: 0.04, cut: 0.04 }, random(`${seed}/model`));
  const graphs = [loaded('chat', twoSteps(model))];
  const look: Target['look'] = (work) => lookInto(target, work);
  const system = await durable({
    ...{ address: temporal.address, graphs, target },
    sweep: { everyMs: 500, quietMs: 1_500 },
    wrap: {
      storage: (storage) => faultyStorage(storage, faults),
      waker: (waker) => faultyWaker(waker, faults),
    },
  });
  await look(noteChanges);
  const closing = new AbortController();
  const app = createApp({
    ...{ storage: system.storage, relay: system.relay, wake: system.wake },
    graphs: { names: ['chat'], default: 'chat' },
    log: pino({ level: 'silent' }),
    identify: identifyEverybody,
    ready: () => Promise.resolve([]),
    closing: closing.signal,
    settings: { ...defaultSettings, pollMs: 100 },
  });
  const server = await listen(app, { host: '127.0.0.1', port: 0, closing });
  const stop = async (): Promise<void> => {
    await server.close();
    await system.stop();
    await model.close();
  };
  return { gateways: [server.url], model, look, faults, taskQueue: system.taskQueue, stop };
}

describe.each(durableBackends)('the fault port on %s', (kind) => {
  const rule =
    'P3 P9 8 % of all calls not done and 8 % done but told failed: the checker finds nothing';
  test(
    rule,
    async () => {
      const { target, remove } = await emptyTarget(kind);
      const system = await startFaulty(target);
      try {
        const log = new OpLog();
        const choices = random(`${seed}/${kind}`);
        const rooms = [
          room('shared-0', 'chat'),
          room('single-0', 'chat'),
          room('wild-0', 'chat', true),
        ];
        const [stopping, hopeless] = [new AbortController(), new AbortController()];
        const stage = {
          ...{ log, gateways: system.gateways, busy: new Set<string>() },
          ...{ stopping: stopping.signal, hopeless: hopeless.signal },
        };
        log.onReply = (count) => {
          if (count >= wantedReplies) stopping.abort();
        };
        const store = await system.look(storeId);
        const at = { address: temporal.address, taskQueue: system.taskQueue, store, rooms };
        const pace = { thinkMs: [0, 30], modelMs: [0, 40] } as const;
        await Promise.all([
          ...startClients(stage, rooms, pace, choices),
          signaller(stage, at, choices.split('signals'), { sent: 0 }),
        ]);
        system.faults.end();
        await untilQuiet(system, 60_000);
        await readBack(system, log, rooms);
        const history = {
          ...{ ops: log.ops, calls: system.model.journal },
          store: await system.look((sql) => readStore(sql, { scan: true })),
        };
        expect(checkHistory(history)).toEqual([]);
        expect(system.faults.counts.before).toBeGreaterThan(20);
        expect(system.faults.counts.after).toBeGreaterThan(20);
      } finally {
        await system.stop();
        await remove();
      }
    },
    limitMs,
  );
});
