import { AIMessage, HumanMessage } from '@langchain/core/messages';
import type { BaseMessage } from '@langchain/core/messages';
import {
  Annotation,
  END,
  interrupt,
  MessagesAnnotation,
  START,
  StateGraph,
} from '@langchain/langgraph';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { threadQueryName, workflowIdOf } from '../../contracts/protocol.js';
import type { ThreadView } from '../../contracts/protocol.js';
import { longRun } from '../../workflows/thread-state.js';
import { durable, loaded } from '../support/durable.js';
import type { Durable } from '../support/durable.js';
import { historyText } from '../support/history-text.js';
import { startTestTemporal } from '../support/temporal-server.js';
import { until } from '../support/until.js';

const textOf = (message: BaseMessage | undefined): string =>
  typeof message?.content === 'string' ? message.content : '';

/** Says how many people's messages it has seen, and repeats the last one. */
const echo = new StateGraph(MessagesAnnotation)
  .addNode('answer', ({ messages }) => {
    const people = messages.filter((m) => HumanMessage.isInstance(m));
    return { messages: [new AIMessage(`seen ${people.length}: ${textOf(people.at(-1))}`)] };
  })
  .addEdge(START, 'answer')
  .addEdge('answer', END)
  .compile();

const Asking = Annotation.Root({ answer: Annotation<string> });
const asking = new StateGraph(Asking)
  .addNode('ask', () => ({ answer: `you said ${String(interrupt('which one?'))}` }))
  .addEdge(START, 'ask')
  .compile();

const sliced = new StateGraph(MessagesAnnotation)
  .addNode('one', () => ({ messages: [new AIMessage('1')] }))
  .addNode('two', () => ({ messages: [new AIMessage('2')] }))
  .addNode('three', () => ({ messages: [new AIMessage('3')] }))
  .addEdge(START, 'one')
  .addEdge('one', 'two')
  .addEdge('two', 'three')
  .compile();

let broken = 0;
const failing = new StateGraph(MessagesAnnotation)
  .addNode('break', () => {
    broken += 1;
    throw new Error('a secret from the prompt');
  })
  .addEdge(START, 'break')
  .compile();

let temporal: Awaited<ReturnType<typeof startTestTemporal>>;
let system: Durable;
beforeAll(async () => {
  temporal = await startTestTemporal();
  const graphs = [
    loaded('echo', echo),
    loaded('asking', asking),
    loaded('failing', failing),
    { ...loaded('sliced', sliced), slice: 'superstep' as const },
  ];
  system = await durable({ address: temporal.address, graphs });
});
afterAll(async () => {
  await system.stop();
  await temporal.stop();
});

const handleOf = (threadId: string) =>
  system.connection.client.workflow.getHandle(
    workflowIdOf({ tenant: 'default', threadId, store: system.storage.store }),
  );

describe('a thread on a real Temporal server', () => {
  test('T1 five turns at once are answered in order, each seeing exactly those before it', async () => {
    const turns = await Promise.all([1, 2, 3, 4, 5].map((n) => system.post('five', `m${n}`)));
    const rows = await Promise.all(turns.map((turn) => system.settled(turn)));
    for (const row of rows) expect(row.response).toMatch(new RegExp(`^seen ${row.seq}:`));
    expect(rows.map((r) => r.version).sort()).toEqual([1, 2, 3, 4, 5]);
  });

  test('P2 the workflow stands under the thread id and answers what it knows', async () => {
    await system.settled(await system.post('known', 'hi'));
    const view = await until('the run to be idle', async () => {
      const seen = await handleOf('known').query<ThreadView>(threadQueryName);
      return seen.inFlight ? undefined : seen;
    });
    expect(view).toEqual({ settledThrough: 1, target: 0, inFlight: false });
    const { currentDetails } = await handleOf('known').query<{ currentDetails: string }>(
      '__temporal_workflow_metadata',
    );
    expect(currentDetails).toBe('Settled through turn 1. Idle.');
    const { events } = await handleOf('known').fetchHistory();
    expect(historyText(events)).toContain('turns up to 1'); // the activity's summary
    expect(historyText(events)).toContain('"nodes":["answer"]'); // its result: steps by name
    const { raw } = await handleOf('known').describe();
    expect(historyText(raw)).toContain('thread known of default');
  });

  test('A6 a further turn costs at most ten history events, and none holds text', async () => {
    const counts = [];
    for (const text of ['canary-words', 'more canary-words']) {
      await system.settled(await system.post('silent', text));
      await until('the run to be idle', async () => {
        const seen = await handleOf('silent').query<ThreadView>(threadQueryName);
        return seen.inFlight ? undefined : true;
      });
      const { events } = await handleOf('silent').fetchHistory();
      counts.push(events?.length ?? 0);
      expect(historyText(events)).toContain('settledThrough');
      expect(historyText(events)).not.toContain('canary-words');
    }
    const [first = 0, second = 0] = counts;
    expect(second - first).toBeLessThanOrEqual(10);
  });

  test('P7 an interrupt waits for its resume, which goes on from there', async () => {
    const first = await system.settled(
      await system.post('ask', { kind: 'input', value: {} }, { graph: 'asking' }),
    );
    expect(first.status).toBe('interrupted');
    expect(JSON.parse(first.interruptsJson ?? '[]')).toMatchObject([{ value: 'which one?' }]);
    const second = await system.settled(
      await system.post('ask', { kind: 'resume', value: 'the red one' }),
    );
    expect(second.status).toBe('committed');
    expect(JSON.parse(second.valuesJson ?? '{}')).toEqual({ answer: 'you said the red one' });
  });

  test('P3 a node that keeps throwing fails its turn after three tries, and the next turn runs', async () => {
    const failed = await system.settled(await system.post('broken', 'x', { graph: 'failing' }));
    expect(failed.status).toBe('failed');
    expect(failed.failure?.code).toBe('node_error');
    expect(broken).toBe(3);
    const next = await system.settled(await system.post('broken', 'y'));
    expect(next.seq).toBe(2);
    const { events } = await handleOf('broken').fetchHistory();
    expect(historyText(events)).not.toContain('a secret from the prompt');
  });

  test('a graph sliced by supersteps runs each as an activity of its own', async () => {
    const turn = await system.settled(await system.post('sliced', 'x', { graph: 'sliced' }));
    expect(turn.status).toBe('committed');
    const { events } = await handleOf('sliced').fetchHistory();
    const activities = events?.filter((e) => e.activityTaskScheduledEventAttributes) ?? [];
    expect(activities).toHaveLength(3);
  });

  test('P2 a long run continues as new between turns and loses none', async () => {
    const count = longRun.turns + 5;
    const turns = [];
    for (let n = 0; n < count; n += 1) turns.push(await system.post('long', `m${n}`));
    const rows = await Promise.all(turns.map((turn) => system.settled(turn)));
    expect(rows.map((r) => r.response)).toEqual(turns.map((_, n) => `seen ${n + 1}: m${n}`));
  });

  test('T6 an idle thread completes, and the next turn wakes it', async () => {
    const quick = await durable({
      address: temporal.address,
      graphs: [loaded('echo', echo)],
      threadIdleMs: 50,
    });
    try {
      await quick.settled(await quick.post('sleepy', 'one'));
      const id = workflowIdOf({
        tenant: 'default',
        threadId: 'sleepy',
        store: quick.storage.store,
      });
      await until('the run to complete', async () => {
        const { status } = await quick.connection.client.workflow.getHandle(id).describe();
        return status.name === 'COMPLETED' ? true : undefined;
      });
      const second = await quick.settled(await quick.post('sleepy', 'two'));
      expect(second.response).toBe('seen 2: two');
    } finally {
      await quick.stop();
    }
  });

  test('T2 a turn whose wake was lost is signalled again by the sweeper', async () => {
    const swept = await durable({
      address: temporal.address,
      graphs: [loaded('echo', echo)],
      sweep: { everyMs: 50, quietMs: 100 },
    });
    try {
      const accepted = await swept.storage.turns.accept({
        thread: { tenant: 'default', threadId: 'forgotten' },
        turnId: 'lost-wake',
        defaultGraph: 'echo',
        input: { kind: 'message', text: 'hello' },
        digest: 'd',
        multitask: 'enqueue',
        stream: false,
        maxPending: 10,
      });
      if (accepted.kind !== 'accepted') throw new Error(accepted.kind);
      expect((await swept.settled(accepted.turn)).response).toBe('seen 1: hello');
    } finally {
      await swept.stop();
    }
  });
});
