import { AIMessage } from '@langchain/core/messages';
import { Annotation, interrupt, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { workflowIdOf } from '../../contracts/protocol.js';
import { durable as durableKinds, emptyTarget } from '../support/database.js';
import { durable, loaded } from '../support/durable.js';
import type { Durable } from '../support/durable.js';
import { startTestTemporal } from '../support/temporal-server.js';
import { until } from '../support/until.js';
import { disguises, findInDatabase, findInFiles, findInTemporal } from './scan.js';

/** Planted wherever a user's text can stand. */
const canary = 'Kanarienvogel-7f3a';

/** Calls a tool with the user's words, asks a question that quotes them, and breaks over them. */
const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  notes: Annotation<Record<string, string>>,
});
const careless = new StateGraph(State)
  .addNode('note', ({ messages }) => {
    const text = messages.at(-1)?.text ?? '';
    if (text.includes('break')) throw new Error(`cannot do "${text}"`);
    const call = { id: `call-${canary}`, name: 'search', args: { query: text } };
    return {
      messages: [new AIMessage({ content: `you said ${text}`, tool_calls: [call] })],
      notes: { [canary]: text },
    };
  })
  .addNode('ask', ({ messages }) => {
    const text = messages.at(0)?.text ?? '';
    return text.includes('ask') ? { notes: { answer: String(interrupt(`really ${text}?`)) } } : {};
  })
  .addEdge(START, 'note')
  .addEdge('note', 'ask')
  .compile();

let temporal: Awaited<ReturnType<typeof startTestTemporal>>;
beforeAll(async () => {
  temporal = await startTestTemporal();
});
afterAll(() => temporal.stop());

describe.each(durableKinds)('erasure on %s', (kind) => {
  let place: Awaited<ReturnType<typeof emptyTarget>>;
  let system: Durable;
  beforeAll(async () => {
    place = await emptyTarget(kind);
    system = await durable({
      address: temporal.address,
      target: place.target,
      graphs: [loaded('careless', careless)],
      threadIdleMs: 60_000,
    });
  });
  afterAll(async () => {
    await system.stop();
    await place.remove();
  });

  const keyOf = (threadId: string) => ({ tenant: 'default', threadId });
  /** As the gateway deletes: the transaction, then the wake. */
  async function remove(threadId: string, tell = true): Promise<void> {
    const thread = keyOf(threadId);
    const deleted = await system.storage.threads.delete(thread);
    if (deleted.kind !== 'deleted') throw new Error(deleted.kind);
    if (tell) await system.wake.wake({ thread, seq: deleted.nextSeq }, { start: false });
  }
  /** Every run of the thread that Temporal still knows, open or closed. */
  async function runsOf(threadId: string): Promise<readonly string[]> {
    const id = workflowIdOf({ ...keyOf(threadId), store: system.storage.store });
    const runs: string[] = [];
    const { client } = system.connection;
    for await (const run of client.workflow.list({ query: `WorkflowId = '${id}'` })) {
      runs.push(run.runId);
    }
    return runs;
  }
  const gone = (threadId: string): Promise<true> =>
    until('the histories to be erased', async () =>
      (await runsOf(threadId)).length === 0 ? (true as const) : undefined,
    );
  const open = (threadId: string): Promise<string> =>
    until('a run to be listed', async () => (await runsOf(threadId))[0]);

  async function dialogue(threadId: string): Promise<void> {
    await system.storage.threads.create({
      thread: keyOf(threadId),
      metadataJson: JSON.stringify({ title: canary }),
    });
    const say = async (text: string, key: string) =>
      await system.settled(await system.post(threadId, text, { key, digest: `v1:${canary}` }));
    expect(await say(`${canary} ask`, `key-${canary}`)).toMatchObject({ status: 'interrupted' });
    const answer = { kind: 'resume', value: `yes, ${canary}` } as const;
    const resumed = await system.settled(await system.post(threadId, answer));
    expect(resumed).toMatchObject({ status: 'committed' });
    expect(await say(`${canary} break`, 'k2')).toMatchObject({ status: 'failed' });
  }

  test('O5 P8 nothing of a deleted thread is left: not in a table, not in a history, not in the list of runs', async () => {
    await dialogue('secrets');
    await open('secrets');
    const forms = disguises(canary);
    expect(await findInDatabase(place.target, forms)).not.toEqual([]); // the scan can see
    await remove('secrets');
    expect(await findInDatabase(place.target, forms)).toEqual([]);
    expect(await findInFiles(place.target, forms)).toEqual([]);
    await gone('secrets');
    expect(await findInTemporal(system.connection, forms)).toEqual([]);
  });

  test('A6 no word of a thread that lives stands in Temporal', async () => {
    await dialogue('alive');
    await open('alive');
    expect(await findInTemporal(system.connection, disguises(canary))).toEqual([]);
  });

  test('O5 a run that was not told of the delete is told by the sweeper, and erased', async () => {
    await system.settled(await system.post('untold', 'hello'));
    await open('untold');
    await remove('untold', false);
    await gone('untold');
  });

  test("O5 the next epoch's run is left alone, and the closed run of the epoch before is erased", async () => {
    await system.settled(await system.post('reborn', 'hello'));
    const before = await open('reborn');
    await remove('reborn');
    await gone('reborn');
    const next = await system.settled(await system.post('reborn', 'again'));
    expect(next).toMatchObject({ epoch: 2, version: 1 });
    const after = await open('reborn');
    expect(after).not.toBe(before);
    expect(await system.settled(await system.post('reborn', 'and again'))).toMatchObject({
      version: 2,
    });
    expect(await runsOf('reborn')).toEqual([after]);
  });
});
