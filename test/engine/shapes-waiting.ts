/** Shapes that wait for a person, or for tasks inside a node. */
import { START, StateGraph, entrypoint, interrupt, task } from '@langchain/langgraph';
import {
  asGraph,
  input,
  message,
  resume,
  say,
  Trace,
  type Log,
  type Shape,
  type TraceState,
} from './shape.js';

const taskInNode: Shape = {
  name: 'task() in a node',
  width: 4,
  build: (log, saving) => {
    const double = task(
      'double',
      log.node('double', (n: number) => n * 2),
    );
    return asGraph(
      new StateGraph(Trace)
        .addNode(
          'sum',
          log.node('sum', async () => {
            const first = await double(1);
            const [second, third] = await Promise.all([double(first), double(first + 1)]);
            return { trace: [`${first} ${second} ${third}`] };
          }),
        )
        .addNode(
          'tell',
          log.node('tell', (s: TraceState) => ({ messages: [say(s.trace.join())] })),
        )
        .addEdge(START, 'sum')
        .addEdge('sum', 'tell')
        .compile(saving),
    );
  },
  turns: [message('one'), message('two')],
};

const functional: Shape = {
  name: 'entrypoint',
  width: 3,
  build: (log, saving) => {
    const step = task(
      'step',
      log.node('step', (s: string) => `${s}!`),
    );
    return asGraph(
      entrypoint({ name: 'flow', ...saving }, async (given: { text: string }) => {
        const first = await step(given.text);
        const answer: string = interrupt({ ask: first });
        const second = await step(first + answer);
        log.add('flow');
        return { second };
      }),
    );
  },
  turns: [input({ text: 'a' }), resume('yes'), input({ text: 'b' }), resume('no')],
};

const oneInterrupt: Shape = {
  name: 'interrupt',
  build: (log, saving) =>
    asGraph(
      new StateGraph(Trace)
        .addNode(
          'before',
          log.node('before', () => ({ trace: ['before'] })),
        )
        .addNode(
          'ask',
          log.node('ask', () => ({
            trace: [`got ${interrupt<unknown, string>({ question: 'sure?' })}`],
          })),
        )
        .addNode(
          'after',
          log.node('after', (s: TraceState) => ({ messages: [say(s.trace.join())] })),
        )
        .addEdge(START, 'before')
        .addEdge('before', 'ask')
        .addEdge('ask', 'after')
        .compile(saving),
    ),
  turns: [message('one'), resume('yes'), message('two'), resume('no')],
};

const twoInterrupts: Shape = {
  name: 'two interrupts in one node',
  build: (log, saving) =>
    asGraph(
      new StateGraph(Trace)
        .addNode(
          'ask',
          log.node('ask', () => {
            const a: string = interrupt('first?');
            const b: string = interrupt('second?');
            return { trace: [`${a}/${b}`] };
          }),
        )
        .addNode(
          'again',
          log.node('again', () => ({ trace: [`third ${interrupt<string, string>('third?')}`] })),
        )
        .addEdge(START, 'ask')
        .addEdge('ask', 'again')
        .compile(saving),
    ),
  turns: [message('one'), resume('1'), resume('2'), resume('3'), message('two'), resume('4')],
};

const breakpointBefore: Shape = {
  name: 'compile-time interruptBefore',
  build: (log, saving) =>
    asGraph(
      new StateGraph(Trace)
        .addNode(
          'a',
          log.node('a', () => ({ trace: ['a'] })),
        )
        .addNode(
          'b',
          log.node('b', () => ({ trace: ['b'] })),
        )
        .addNode(
          'c',
          log.node('c', () => ({ messages: [say('c')] })),
        )
        .addEdge(START, 'a')
        .addEdge('a', 'b')
        .addEdge('b', 'c')
        .compile({ ...saving, interruptBefore: ['b', 'c'] }),
    ),
  turns: [
    message('one'),
    resume(null),
    resume(null),
    message('two'),
    resume(null),
    message('three'),
  ],
};

const breakpointAfter: Shape = {
  name: 'compile-time interruptAfter',
  build: (log, saving) =>
    asGraph(
      new StateGraph(Trace)
        .addNode(
          'a',
          log.node('a', () => ({ trace: ['a'] })),
        )
        .addNode(
          'b',
          log.node('b', () => ({ messages: [say('b')] })),
        )
        .addEdge(START, 'a')
        .addEdge('a', 'b')
        .compile({ ...saving, interruptAfter: ['a', 'b'] }),
    ),
  turns: [message('one'), resume(null), message('two'), resume(null)],
};

const asking = (log: Log, name: string, question?: string) => (): { trace: string[] } => {
  const answer = question === undefined ? '' : interrupt<string, unknown>(question);
  log.add(name);
  return { trace: [`${name} ${JSON.stringify(answer)}`] };
};

const parallelInterrupts: Shape = {
  name: 'interrupts in parallel nodes, beside one that finishes',
  width: 3,
  build: (log, saving) =>
    asGraph(
      new StateGraph(Trace)
        .addNode('a', asking(log, 'a', 'a?'))
        .addNode('b', asking(log, 'b', 'b?'))
        .addNode('c', asking(log, 'c'))
        .addNode(
          'join',
          log.node('join', (s: TraceState) => ({ messages: [say(s.trace.join())] })),
        )
        .addEdge(START, 'a')
        .addEdge(START, 'b')
        .addEdge(START, 'c')
        .addEdge(['a', 'b', 'c'], 'join')
        .compile(saving),
    ),
  turns: [
    message('one'),
    (asked) => resume(Object.fromEntries(asked.map(({ id, value }) => [id, { answers: value }]))),
    message('two'),
    (asked) => resume({ [asked[0]?.id ?? '']: 'only the first' }),
    (asked) => resume({ [asked[0]?.id ?? '']: 'the other' }),
  ],
};

export const waitingShapes: readonly Shape[] = [
  taskInNode,
  functional,
  oneInterrupt,
  twoInterrupts,
  breakpointBefore,
  breakpointAfter,
  parallelInterrupts,
];
