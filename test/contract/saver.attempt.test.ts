import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { AIMessage, type BaseMessage, HumanMessage } from '@langchain/core/messages';
import {
  Annotation,
  Command,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  StateGraph,
} from '@langchain/langgraph';
import { backends, openDatabase, type TestDatabase } from '../support/database.js';
import { SaverThread } from '../support/saver-run.js';

const chat = new StateGraph(MessagesAnnotation)
  .addNode('model', ({ messages }) => ({
    messages: [new AIMessage({ id: `ai-${messages.length}`, content: `reply ${messages.length}` })],
  }))
  .addEdge('__start__', 'model')
  .addEdge('model', '__end__')
  .compile();

const human = (text: string): { messages: BaseMessage[] } => ({
  messages: [new HumanMessage({ id: text, content: text })],
});

const shown = (values: unknown): string => JSON.stringify(values);

describe.each(backends)('saver on %s', (kind) => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await openDatabase(kind);
  });
  afterAll(() => database.close());
  const thread = (): SaverThread => new SaverThread(database.storage);

  test('a one-node turn flushes nothing before it settles, and stores one checkpoint of three puts', async () => {
    const { opened, last } = await thread().run({ graph: chat, input: human('a') });
    expect(opened.flushed).toEqual([]);
    expect(last.checkpoints).toHaveLength(1);
    expect(last.writes).toEqual([]);
    expect(last.superstep).toEqual({ finished: 1, ran: ['model'], next: [] });
    expect(opened.steps).toEqual([{ step: 1, nodes: ['model'] }]);
  });

  test('turns continue the state, warm and cold, as with a MemorySaver', async () => {
    const here = thread();
    const memory = new MemorySaver();
    const config = { configurable: { thread_id: 'x', __pregel_checkpointer: memory } };
    for (const text of ['a', 'b', 'c']) {
      const { result } = await here.run({ graph: chat, input: human(text) });
      expect(shown(result)).toBe(shown(await chat.invoke(human(text), config)));
    }
    const { values } = (await chat.getState(config)) as { values: unknown };
    expect(shown(await here.coldValues())).toBe(shown(values));
    const { result } = await here.run({ graph: chat, input: human('d') });
    expect(shown(result)).toBe(shown(await chat.invoke(human('d'), config)));
  });
});
