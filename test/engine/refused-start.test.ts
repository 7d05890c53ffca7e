/** What a graph is not begun with: said by name, before anything is written. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  entrypoint,
  MessageGraph,
  MessagesAnnotation,
  START,
  StateGraph,
} from '@langchain/langgraph';
import type { GraphRun, Stop } from '../../engine/port.js';
import type { PregelGraph } from '../../engine/project/types.js';
import { runToStop } from '../../engine/run-to-stop.js';
import { openStorage } from '../../storage/open.js';
import type { Storage } from '../../storage/port.js';
import { runOf } from './drive.js';
import { asGraph, input, say } from './shape.js';
import { storedThread } from './threads.js';

let storage: Storage;
beforeAll(async () => {
  storage = await openStorage({ kind: 'memory' }, { autoMigrate: true });
});
afterAll(() => storage.close());

let ran = 0;
const talk = asGraph(
  new StateGraph(MessagesAnnotation)
    .addNode('one', () => ({ messages: [say(`ran ${(ran += 1)}`)] }))
    .addNode('two', () => ({ messages: [say('two')] }))
    .addConditionalEdges(START, () => 'one', ['one', 'two'])
    .compile(),
);

async function begin(graph: PregelGraph, value: unknown, goto?: readonly string[]): Promise<Stop> {
  const start = input(value);
  const opened = await storedThread(storage).open(start);
  const shape = { name: 'g', build: () => graph, turns: [] };
  const call: Pick<GraphRun, 'call'> = goto === undefined ? {} : { call: { command: { goto } } };
  const run = runOf({ graph, shape, opened, start, mode: {}, frames: [] });
  return await runToStop({ ...run, ...call });
}

test.each([
  ['str', 'a string'],
  ['', 'a string'],
  [7, 'a number'],
  [0, 'a number'],
  [true, 'a boolean'],
  [[{ role: 'user', content: 'x' }], 'an array'],
])('an input that is no object is refused where the state is one: %j', async (value, named) => {
  const before = ran;
  const stop = await begin(talk, value);
  expect(stop).toMatchObject({ kind: 'failed', failure: { code: 'invalid_input' } });
  expect(JSON.stringify(stop)).toContain(`The input is ${named}; this graph takes an object`);
  expect(ran).toBe(before);
});

test('an entrypoint and a graph of messages take what they are given', async () => {
  const echo = asGraph(entrypoint('echo', (given: unknown) => Promise.resolve({ given })));
  for (const value of ['str', 7, [1]]) {
    const stop = await begin(echo, value);
    expect(stop).toMatchObject({ kind: 'finished', output: { valuesJson: expect.anything() } });
  }
  const single = asGraph(
    new MessageGraph()
      .addNode('end', () => say('end'))
      .addEdge(START, 'end')
      .compile(),
  );
  expect((await begin(single, 'str')).kind).toBe('finished');
});

test.each(['nowhere', '__start__', 'constructor'])(
  'a goto to %s, which is no node, names it and those there are; nothing runs',
  async (name) => {
    const before = ran;
    const message = `The graph has no node "${name}"; it has one, two.`;
    expect(await begin(talk, null, [name])).toEqual({
      kind: 'failed',
      failure: { code: 'unknown_node', message },
    });
    expect(await begin(talk, null, ['one', name])).toMatchObject({ kind: 'failed' });
    expect(ran).toBe(before);
    expect((await begin(talk, null, ['two'])).kind).toBe('finished');
  },
);
