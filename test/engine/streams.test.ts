/** What a run tells its viewers besides tokens: stream modes, and the text of work that an earlier attempt finished. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import type { FrameBody } from '../../contracts/frames.js';
import { modeSet, type StreamMode } from '../../contracts/stream-modes.js';
import { runToStop } from '../../engine/run-to-stop.js';
import { openStorage } from '../../storage/open.js';
import type { Storage } from '../../storage/port.js';
import { driven, type Mode } from './drive.js';
import { asGraph, message, say, type Shape } from './shape.js';
import { storedThread } from './threads.js';

let storage: Storage;
beforeAll(async () => {
  storage = await openStorage({ kind: 'memory' }, { autoMigrate: true });
});
afterAll(() => storage.close());

const child = asGraph(
  new StateGraph(MessagesAnnotation)
    .addNode('inner', () => ({ messages: [say('from within')] }))
    .addEdge(START, 'inner')
    .compile(),
);

const graphs: Shape = {
  name: 'two steps',
  build: () =>
    asGraph(
      new StateGraph(MessagesAnnotation)
        .addNode('first', () => ({ messages: [say('one ')] }))
        .addNode('second', child as never)
        .addEdge(START, 'first')
        .addEdge('first', 'second')
        .compile(),
    ),
  turns: [message('hi')],
};

const framesOf = async (mode: Mode, more: object = {}): Promise<readonly FrameBody[]> => {
  const thread = storedThread(storage);
  const { frames } = await driven(graphs, thread, {
    ...mode,
    stream: true,
    runToStop: (run) => runToStop({ ...run, ...more }),
  });
  return frames;
};

const eventsOf = (frames: readonly FrameBody[]): string[] =>
  frames.flatMap((f) => (f.kind === 'mode' ? [f.data.event] : []));

describe('stream modes', () => {
  test.each<[StreamMode, number]>([
    ['values', 3],
    ['updates', 2],
    ['messages', 2],
    ['tasks', 4],
    ['debug', 6],
  ])('%s gives what LangGraph gives for the root graph', async (mode, least) => {
    const frames = await framesOf({}, { modes: modeSet([mode], false) });
    const events = eventsOf(frames);
    expect(events.length).toBeGreaterThanOrEqual(least - 1);
    expect(new Set(events)).toEqual(new Set([mode]));
  });

  test('updates are by node, and messages in them are LangChain messages as their own fields', async () => {
    const frames = await framesOf({}, { modes: modeSet(['updates'], false) });
    const [first] = frames.flatMap((f) => (f.kind === 'mode' ? [f.data.data] : []));
    expect(first).toMatchObject({ first: { messages: [{ type: 'ai', content: 'one ' }] } });
  });

  test('subgraphs come under their namespace when they are asked for', async () => {
    const events = eventsOf(await framesOf({}, { modes: modeSet(['updates'], true) }));
    expect(events).toContainEqual(expect.stringMatching(/^updates\|second:/));
    expect(events).toContain('updates');
  });

  test('nobody asked: only what is token-sized', async () => {
    const kinds = new Set((await framesOf({})).map((f) => f.kind));
    expect([...kinds].sort()).toEqual(['step', 'token']);
  });
});

describe('P10 an attempt that goes on', () => {
  test('tells the text of finished supersteps first', async () => {
    const frames = await framesOf({ slice: 'superstep' });
    const texts = frames.flatMap((f) => (f.kind === 'text' ? [f.data.text] : []));
    expect(texts[0]).toBe('one ');
    const afterYield = frames.slice(frames.findIndex((f) => f.kind === 'text') + 1);
    expect(afterYield.flatMap((f) => (f.kind === 'token' ? [f.data.text] : []))).toEqual([
      'from within',
    ]);
  });

  test('and of parallel tasks that are flushed, when the superstep was cut off', async () => {
    let crashed = false;
    const shape: Shape = {
      name: 'parallel',
      build: () =>
        asGraph(
          new StateGraph(MessagesAnnotation)
            .addNode('quick', () => ({ messages: [say('quick')] }))
            .addNode('slow', async () => {
              await new Promise((resolve) => setTimeout(resolve, crashed ? 0 : 200));
              return { messages: [say('slow')] };
            })
            .addEdge(START, 'quick')
            .addEdge(START, 'slow')
            .compile(),
        ),
      turns: [message('hi')],
    };
    const { frames, crashes } = await driven(shape, storedThread(storage), {
      stream: true,
      crashAt: 2,
      runToStop: async (run) => {
        const stop = await runToStop(run);
        crashed = true;
        return stop;
      },
    });
    expect(crashes).toBe(1);
    expect(frames.flatMap((f) => (f.kind === 'text' ? [f.data.text] : []))).toEqual(['quick']);
  });
});
