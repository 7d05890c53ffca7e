import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { interrupt, MessagesAnnotation, Send, START, StateGraph } from '@langchain/langgraph';
import { tool } from 'langchain';
import { z } from 'zod';
import type { GraphRun, Stop } from '../../engine/port.js';
import type { PregelGraph } from '../../engine/project/types.js';
import { runToStop } from '../../engine/run-to-stop.js';
import { openStorage } from '../../storage/open.js';
import type { Storage } from '../../storage/port.js';
import { runOf } from './drive.js';
import { asGraph, FollowModel, input, message, resume, say, Trace } from './shape.js';
import { storedThread, type TestThread } from './threads.js';

let storage: Storage;
beforeAll(async () => {
  storage = await openStorage({ kind: 'memory' }, { autoMigrate: true });
});
afterAll(() => storage.close());

const escaped: unknown[] = [];
const escape = (reason: unknown): void => {
  escaped.push(reason);
};
process.on('unhandledRejection', escape);
afterAll(() => {
  process.off('unhandledRejection', escape);
});
afterEach(() => {
  expect(escaped).toEqual([]);
});

type Frames = Parameters<GraphRun['emit']>[0][];

async function turn(
  thread: TestThread,
  graph: PregelGraph,
  start: GraphRun['start'],
  more: Partial<GraphRun> = {},
): Promise<{ stop: Stop; frames: Frames }> {
  const opened = await thread.open(start);
  const frames: Frames = [];
  const shape = { name: 'g', build: () => graph, turns: [] };
  const run = runOf({ graph, shape, opened, start, mode: {}, frames });
  const stop = await runToStop({ ...run, ...more });
  if (stop.kind === 'finished' || stop.kind === 'interrupted') await opened.settle(stop);
  return { stop, frames };
}

const outputOf = (stop: Stop) => {
  if (stop.kind !== 'finished' && stop.kind !== 'interrupted') throw new Error(stop.kind);
  return stop.output;
};

const answering = (text: string, more: object = {}) =>
  new FollowModel(() => new AIMessage({ content: text, ...more }));

const modelGraph = (text: string) =>
  asGraph(
    new StateGraph(MessagesAnnotation)
      .addNode('model', async ({ messages }, config) => ({
        messages: [await answering(text).invoke(messages, config)],
      }))
      .addEdge(START, 'model')
      .compile(),
  );

describe('output', () => {
  test('a turn gives its own messages, its last answer and the sum of its usage', async () => {
    const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
    const graph = asGraph(
      new StateGraph(Trace)
        .addNode('a', () => ({
          trace: ['a'],
          messages: [new AIMessage({ content: 'first', usage_metadata: usage } as never)],
        }))
        .addNode('b', () => ({
          messages: [
            new AIMessage({
              content: [{ type: 'text', text: 'second' }],
              usage_metadata: usage,
            } as never),
          ],
        }))
        .addEdge(START, 'a')
        .addEdge('a', 'b')
        .compile(),
    );
    const thread = storedThread(storage);
    await turn(thread, graph, message('one'));
    const { stop } = await turn(thread, graph, message('two'));
    const { response, messages, valuesJson, usage: sum } = outputOf(stop);
    expect(response).toBe('second');
    expect(messages.map((m) => [m.role, m.content])).toEqual([
      ['user', 'two'],
      ['assistant', 'first'],
      ['assistant', 'second'],
    ]);
    expect(new Set(messages.map((m) => m.id)).size).toBe(3);
    expect(JSON.parse(valuesJson)).toEqual({ trace: ['a', 'a'] });
    expect(sum).toEqual({ input_tokens: 2, output_tokens: 4, total_tokens: 6 });
  });

  test('what a finished task wrote beside an interrupt belongs to the turn that ends the superstep', async () => {
    const graph = asGraph(
      new StateGraph(Trace)
        .addNode('done', () => ({ messages: [say('done')] }))
        .addNode('ask', () => ({ trace: [interrupt<string, string>('?')] }))
        .addEdge(START, 'done')
        .addEdge(START, 'ask')
        .compile(),
    );
    const thread = storedThread(storage);
    const asked = await turn(thread, graph, message('one'));
    expect(asked.stop).toMatchObject({
      kind: 'interrupted',
      next: ['ask'],
      interrupts: [{ value: '?' }],
    });
    expect(outputOf(asked.stop).messages.map((m) => m.content)).toEqual(['one']);
    const { stop } = await turn(thread, graph, resume('yes'));
    expect(outputOf(stop).messages.map((m) => m.content)).toEqual(['done']);
  });
});

describe('streaming', () => {
  test('with listeners the tokens of a model come as it gives them, once, then the step', async () => {
    const { stop, frames } = await turn(
      storedThread(storage),
      modelGraph('to be or not'),
      message('x'),
      { stream: true },
    );
    const tokens = frames.filter((f) => f.kind === 'token').map((f) => f.data);
    expect(tokens.map((t) => t.text)).toEqual(['to ', 'be ', 'or ', 'not']);
    expect(new Set(tokens.map((t) => t.message_id))).toEqual(
      new Set([outputOf(stop).messages.at(-1)?.id]),
    );
    expect(frames.at(-1)).toMatchObject({ kind: 'step', data: { nodes: ['model'] } });
  });

  test('without listeners no token is made, and the step is told', async () => {
    const { stop, frames } = await turn(storedThread(storage), modelGraph('to be'), message('x'));
    expect(frames.map((f) => f.kind)).toEqual(['step']);
    expect(outputOf(stop).response).toBe('to be');
  });

  test('P10 steps stand between the tokens of one superstep and the next; custom events and subgraphs are heard', async () => {
    const inner = new StateGraph(MessagesAnnotation)
      .addNode('deep', async ({ messages }, config) => {
        config.writer({ at: 'deep' });
        return { messages: [await answering('inside').invoke(messages, config)] };
      })
      .addEdge(START, 'deep')
      .compile();
    const graph = asGraph(
      new StateGraph(MessagesAnnotation)
        .addNode('inner', inner)
        .addNode('made', () => ({
          messages: [say('made'), new ToolMessage({ content: 'no', tool_call_id: 'x' })],
        }))
        .addEdge(START, 'inner')
        .addEdge('inner', 'made')
        .compile(),
    );
    const { frames } = await turn(storedThread(storage), graph, message('x'), { stream: true });
    expect(
      frames.map((f) =>
        f.kind === 'token' ? f.data.text : f.kind === 'step' ? f.data.nodes.join() : f.data,
      ),
    ).toEqual([{ at: 'deep' }, 'inside', 'inner', 'made', 'made']);
  });
});

describe('ends that are not the graph’s own', () => {
  const waiting = (entered: () => void) =>
    asGraph(
      new StateGraph(MessagesAnnotation)
        .addNode('wait', () => {
          entered();
          return new Promise<never>(() => undefined);
        })
        .addEdge(START, 'wait')
        .compile(),
    );

  test('P6 an abort ends a run whose node does not look at its signal', async () => {
    const stopper = new AbortController();
    const graph = waiting(() => {
      stopper.abort();
    });
    const { stop } = await turn(storedThread(storage), graph, message('x'), {
      signal: stopper.signal,
    });
    expect(stop).toEqual({ kind: 'aborted' });
  });

  test('a signal that is aborted before the start runs nothing', async () => {
    const graph = waiting(() => {
      throw new Error('ran');
    });
    const { stop } = await turn(storedThread(storage), graph, message('x'), {
      signal: AbortSignal.abort(),
    });
    expect(stop).toEqual({ kind: 'aborted' });
  });

  test('a node’s error comes as it was thrown; of several the first that is no abort', async () => {
    const bad = Object.assign(new Error('bad'), { status: 429 });
    const graph = asGraph(
      new StateGraph(MessagesAnnotation)
        .addNode('a', () => Promise.reject(bad))
        .addNode(
          'b',
          (_s, { signal }) =>
            new Promise<never>((_resolve, reject) => {
              signal.addEventListener('abort', () => {
                reject(new DOMException('aborted', 'AbortError'));
              });
            }),
        )
        .addEdge(START, 'a')
        .addEdge(START, 'b')
        .compile(),
    );
    const { stop } = await turn(storedThread(storage), graph, message('x'));
    expect(stop).toEqual({ kind: 'threw', error: bad });
  });

  test('a drain that is asked for ends the run at the next border, and the next attempt goes on', async () => {
    const drain = { request: (): void => undefined };
    const ran: string[] = [];
    const graph = asGraph(
      new StateGraph(MessagesAnnotation)
        .addNode('a', () => {
          ran.push('a');
          drain.request();
          return {};
        })
        .addNode('b', () => {
          ran.push('b');
          return { messages: [say('b')] };
        })
        .addEdge(START, 'a')
        .addEdge('a', 'b')
        .compile(),
    );
    const thread = storedThread(storage);
    const first = await turn(thread, graph, message('x'), { drain });
    expect(first.stop).toEqual({ kind: 'yielded' });
    const { stop } = await turn(thread, graph, message('x'));
    expect(outputOf(stop).response).toBe('b');
    expect(ran).toEqual(['a', 'b']);
  });

  test('P11 a turn whose pending nodes a deploy has changed fails, and runs nothing', async () => {
    const build = (second: string) =>
      asGraph(
        new StateGraph(Trace)
          .addNode('a', () => ({ trace: ['a'] }))
          .addNode(second, () => ({ trace: [second] }))
          .addEdge(START, 'a')
          .addEdge('a', second as '__end__')
          .compile(),
      );
    const thread = storedThread(storage);
    await turn(thread, build('b'), message('x'), { slice: 'superstep' });
    const { stop } = await turn(thread, build('c'), message('x'));
    expect(stop).toMatchObject({ kind: 'failed', failure: { code: 'graph_changed' } });
  });

  test('P7 a resume of a thread that has never run is stale', async () => {
    const thread = storedThread(storage);
    const start = resume('yes');
    const opened = await thread.open(message('x'));
    const shape = { name: 'g', build: () => modelGraph(''), turns: [] };
    const stop = await runToStop(
      runOf({ graph: modelGraph(''), shape, opened, start, mode: {}, frames: [] }),
    );
    expect(stop).toMatchObject({ kind: 'failed', failure: { code: 'resume_stale' } });
  });
});

describe('the first input', () => {
  test('P7 tool calls that an abandoned interrupt left open are answered in front of the new message', async () => {
    const look = tool(() => interrupt<string, string>('may I?'), {
      name: 'look',
      description: 'looks',
      schema: z.object({}),
    });
    const graph = asGraph(
      new StateGraph(MessagesAnnotation)
        .addNode('model', ({ messages }) => ({
          messages: [
            messages.length === 1
              ? new AIMessage({
                  content: '',
                  tool_calls: [{ id: 'call', name: 'look', args: {} }],
                })
              : say('done'),
          ],
        }))
        .addNode('look', async (call: { id: string }) => ({
          messages: [new ToolMessage({ content: await look.invoke({}), tool_call_id: call.id })],
        }))
        .addEdge(START, 'model')
        .addConditionalEdges('model', ({ messages }) =>
          ((messages.at(-1) as AIMessage).tool_calls ?? []).map((c) => new Send('look', c)),
        )
        .compile(),
    );
    for (const next of [
      message('never mind'),
      input({ messages: [new HumanMessage('never mind')] }),
    ]) {
      const thread = storedThread(storage);
      await turn(thread, graph, message('look'));
      const { stop } = await turn(thread, graph, next);
      expect(outputOf(stop).messages.map((m) => [m.role, m.tool_call_id])).toEqual([
        ['tool', 'call'],
        ['user', undefined],
        ['assistant', undefined],
      ]);
    }
  });
});
