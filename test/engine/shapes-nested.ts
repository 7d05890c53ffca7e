/** Shapes with a graph inside a graph. */
import { START, StateGraph, interrupt } from '@langchain/langgraph';
import {
  asGraph,
  message,
  resume,
  say,
  Trace,
  type Log,
  type Shape,
  type TraceState,
} from './shape.js';

const inner = (log: Log, ask: boolean) =>
  new StateGraph(Trace)
    .addNode(
      'in1',
      log.node('in1', () => ({ trace: ['in1'] })),
    )
    .addNode(
      'in2',
      log.node('in2', () => ({
        trace: [ask ? `in2 ${interrupt<string, string>('inside?')}` : 'in2'],
      })),
    )
    .addNode(
      'in3',
      log.node('in3', () => ({ messages: [say('from inside')] })),
    )
    .addEdge(START, 'in1')
    .addEdge('in1', 'in2')
    .addEdge('in2', 'in3');

const subgraph: Shape = {
  name: 'subgraph',
  build: (log, saving) =>
    asGraph(
      new StateGraph(Trace)
        .addNode(
          'before',
          log.node('before', () => ({ trace: ['before'] })),
        )
        .addNode('inner', inner(log, false).compile())
        .addNode(
          'after',
          log.node('after', (s: TraceState) => ({ messages: [say(s.trace.join())] })),
        )
        .addEdge(START, 'before')
        .addEdge('before', 'inner')
        .addEdge('inner', 'after')
        .compile(saving),
    ),
  turns: [message('one'), message('two')],
};

const interruptInside: Shape = {
  name: 'interrupt in a subgraph',
  resumeWidth: 2,
  build: (log, saving) =>
    asGraph(
      new StateGraph(Trace)
        .addNode(
          'before',
          log.node('before', () => ({ trace: ['before'] })),
        )
        .addNode('inner', inner(log, true).compile())
        .addNode(
          'after',
          log.node('after', (s: TraceState) => ({ messages: [say(s.trace.join())] })),
        )
        .addEdge(START, 'before')
        .addEdge('before', 'inner')
        .addEdge('inner', 'after')
        .compile(saving),
    ),
  turns: [message('one'), resume('yes'), message('two'), resume('no')],
};

const calledInside: Shape = {
  name: 'subgraph called from a node, two levels deep, with an interrupt',
  resumeWidth: 4,
  build: (log, saving) => {
    const deep = new StateGraph(Trace)
      .addNode('middle', inner(log, true).compile())
      .addNode(
        'end',
        log.node('end', () => ({ trace: ['end'] })),
      )
      .addEdge(START, 'middle')
      .addEdge('middle', 'end')
      .compile();
    return asGraph(
      new StateGraph(Trace)
        .addNode('call', async () => {
          const { trace } = await deep.invoke({ messages: [] });
          log.add('call');
          return { trace };
        })
        .addNode(
          'after',
          log.node('after', (s: TraceState) => ({ messages: [say(s.trace.join())] })),
        )
        .addEdge(START, 'call')
        .addEdge('call', 'after')
        .compile(saving),
    );
  },
  turns: [message('one'), resume('yes'), message('two'), resume('no')],
};

const breakpointInside: Shape = {
  name: 'static breakpoint in a subgraph',
  resumeWidth: 2,
  build: (log, saving) =>
    asGraph(
      new StateGraph(Trace)
        .addNode('inner', inner(log, false).compile({ interruptBefore: ['in2'] }))
        .addNode(
          'after',
          log.node('after', () => ({ messages: [say('after')] })),
        )
        .addEdge(START, 'inner')
        .addEdge('inner', 'after')
        .compile(saving),
    ),
  turns: [message('one'), resume(null), message('two'), resume(null)],
};

const besideSubgraph: Shape = {
  name: 'subgraph beside a plain node',
  width: 2,
  build: (log, saving) =>
    asGraph(
      new StateGraph(Trace)
        .addNode('inner', inner(log, false).compile())
        .addNode(
          'beside',
          log.node('beside', () => ({ trace: ['beside'] })),
        )
        .addNode(
          'after',
          log.node('after', () => ({ messages: [say('after')] })),
        )
        .addEdge(START, 'inner')
        .addEdge(START, 'beside')
        .addEdge(['inner', 'beside'], 'after')
        .compile(saving),
    ),
  turns: [message('one'), message('two')],
};

const remembering: Shape = {
  name: 'subgraph with checkpointer: true',
  build: (log, saving) =>
    asGraph(
      new StateGraph(Trace)
        .addNode(
          'before',
          log.node('before', () => ({ trace: ['before'] })),
        )
        .addNode('inner', inner(log, false).compile({ checkpointer: true }))
        .addNode(
          'after',
          log.node('after', (s: TraceState) => ({ messages: [say(s.trace.join())] })),
        )
        .addEdge(START, 'before')
        .addEdge('before', 'inner')
        .addEdge('inner', 'after')
        .compile(saving),
    ),
  turns: [message('one'), message('two'), message('three')],
};

const rememberingAsk: Shape = {
  name: 'subgraph with checkpointer: true that asks, twice in a turn',
  resumeWidth: 2,
  build: (log, saving) =>
    asGraph(
      new StateGraph(Trace)
        .addNode('inner', inner(log, true).compile({ checkpointer: true }))
        .addNode(
          'again',
          log.node('again', () => ({ trace: ['again'] })),
        )
        .addEdge(START, 'inner')
        .addEdge('inner', 'again')
        .addConditionalEdges('again', ({ trace }) =>
          trace.filter((t) => t === 'again').length % 2 === 1 ? 'inner' : '__end__',
        )
        .compile(saving),
    ),
  turns: [message('one'), resume('a'), resume('b'), message('two'), resume('c'), resume('d')],
};

export const nestedShapes: readonly Shape[] = [
  subgraph,
  interruptInside,
  calledInside,
  breakpointInside,
  besideSubgraph,
  remembering,
  rememberingAsk,
];
