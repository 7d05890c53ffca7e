/** Shapes that run through without waiting for a person. */
import { AIMessage, RemoveMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages';
import {
  Annotation,
  Command,
  END,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
} from '@langchain/langgraph';
import {
  asGraph,
  input,
  lastText,
  message,
  say,
  Trace,
  type Shape,
  type TraceState,
} from './shape.js';

const linear: Shape = {
  name: 'linear',
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
          log.node('c', (s: TraceState) => ({
            messages: [say(`to ${lastText(s.messages)}`)],
          })),
        )
        .addEdge(START, 'a')
        .addEdge('a', 'b')
        .addEdge('b', 'c')
        .addEdge('c', END)
        .compile(saving),
    ),
  turns: [message('one'), message('two'), message('three')],
};

const loop: Shape = {
  name: 'loop',
  build: (log, saving) => {
    const State = Annotation.Root({ ...MessagesAnnotation.spec, n: Annotation<number> });
    return asGraph(
      new StateGraph(State)
        .addNode(
          'begin',
          log.node('begin', () => ({ n: 0 })),
        )
        .addNode(
          'add',
          log.node('add', (s: typeof State.State) => ({ n: s.n + 1, messages: [say(`${s.n}`)] })),
        )
        .addEdge(START, 'begin')
        .addEdge('begin', 'add')
        .addConditionalEdges('add', (s) => (s.n < 4 ? 'add' : END))
        .compile(saving),
    );
  },
  turns: [message('one'), message('two')],
};

const sendFanOut: Shape = {
  name: 'Send fan-out',
  width: 4,
  build: (log, saving) =>
    asGraph(
      new StateGraph(Trace)
        .addNode(
          'plan',
          log.node('plan', () => ({ trace: ['plan'] })),
        )
        .addNode(
          'work',
          log.node('work', (s: { item: string }) => ({ trace: [s.item] })),
        )
        .addNode(
          'join',
          log.node('join', (s: TraceState) => ({ messages: [say(s.trace.join())] })),
        )
        .addEdge(START, 'plan')
        .addConditionalEdges(
          'plan',
          () => ['x', 'y', 'z'].map((item) => new Send('work', { item })),
          ['work'],
        )
        .addEdge('work', 'join')
        .addEdge('join', END)
        .compile(saving),
    ),
  turns: [message('one'), message('two')],
};

const commandGoto: Shape = {
  name: 'Command goto',
  build: (log, saving) =>
    asGraph(
      new StateGraph(Trace)
        .addNode(
          'route',
          log.node(
            'route',
            (s: TraceState) =>
              new Command({
                goto: lastText(s.messages).startsWith('l') ? 'left' : 'right',
                update: { trace: ['route'] },
              }),
          ),
          { ends: ['left', 'right'] },
        )
        .addNode(
          'left',
          log.node(
            'left',
            () => new Command({ goto: 'right', update: { messages: [say('left')] } }),
          ),
          { ends: ['right'] },
        )
        .addNode(
          'right',
          log.node('right', () => ({ messages: [say('right')] })),
        )
        .addEdge(START, 'route')
        .compile(saving),
    ),
  turns: [message('left please'), message('right please')],
};

const fanIn: Shape = {
  name: 'fan-in',
  width: 2,
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
          'b2',
          log.node('b2', () => ({ trace: ['b2'] })),
        )
        .addNode(
          'join',
          log.node('join', (s: TraceState) => ({ messages: [say(s.trace.join())] })),
        )
        .addEdge(START, 'a')
        .addEdge(START, 'b')
        .addEdge('b', 'b2')
        .addEdge(['a', 'b2'], 'join')
        .addEdge('join', END)
        .compile(saving),
    ),
  turns: [message('one'), message('two'), message('three')],
};

const parallelTools: Shape = {
  name: 'parallel tools',
  width: 2,
  build: (log, saving) =>
    asGraph(
      new StateGraph(MessagesAnnotation)
        .addNode(
          'model',
          log.node('model', (s: typeof MessagesAnnotation.State) => ({
            messages: [
              s.messages.at(-1)?.type === 'tool'
                ? say('done')
                : new AIMessage({
                    content: '',
                    tool_calls: ['left', 'right'].map((name) => ({
                      name,
                      id: `${name}-${s.messages.length}`,
                      args: {},
                    })),
                  }),
            ],
          })),
        )
        .addNode(
          'tool',
          log.node('tool', (call: { name: string; id: string }) => ({
            messages: [new ToolMessage({ content: `${call.name} says`, tool_call_id: call.id })],
          })),
        )
        .addEdge(START, 'model')
        .addConditionalEdges(
          'model',
          ({ messages }) => {
            const calls = (messages.at(-1) as AIMessage).tool_calls ?? [];
            return calls.length === 0 ? END : calls.map((c) => new Send('tool', c));
          },
          ['tool', END],
        )
        .addEdge('tool', 'model')
        .compile(saving),
    ),
  turns: [message('one'), message('two')],
};

const customReducer: Shape = {
  name: 'custom reducers',
  build: (log, saving) => {
    const State = Annotation.Root({
      messages: Annotation<BaseMessage[]>({ reducer: (a, b) => a.concat(b), default: () => [] }),
      best: Annotation<number>({ reducer: (a, b) => Math.max(a, b), default: () => 0 }),
      seen: Annotation<Record<string, number>>({
        reducer: (a, b) => ({ ...a, ...b }),
        default: () => ({}),
      }),
    });
    return asGraph(
      new StateGraph(State)
        .addNode(
          'a',
          log.node('a', () => ({ best: 3, seen: { a: 1 } })),
        )
        .addNode(
          'b',
          log.node('b', (s: typeof State.State) => ({
            best: 2,
            seen: { b: s.best },
            messages: [say('b')],
          })),
        )
        .addEdge(START, 'a')
        .addEdge('a', 'b')
        .compile(saving),
    );
  },
  turns: [message('one'), input({ best: 9 }), message('three')],
};

const removing: Shape = {
  name: 'RemoveMessage',
  build: (log, saving) =>
    asGraph(
      new StateGraph(MessagesAnnotation)
        .addNode(
          'answer',
          log.node('answer', (s: typeof MessagesAnnotation.State) => ({
            messages: [say(`to ${lastText(s.messages)}`)],
          })),
        )
        .addNode(
          'trim',
          log.node('trim', (s: typeof MessagesAnnotation.State) => ({
            messages: s.messages.slice(0, -2).map((m) => new RemoveMessage({ id: m.id ?? '' })),
          })),
        )
        .addEdge(START, 'answer')
        .addEdge('answer', 'trim')
        .compile(saving),
    ),
  turns: [message('one'), message('two'), message('three')],
};

const retried: Shape = {
  name: 'node-level retry',
  build: (log, saving) => {
    let tries = 0;
    return asGraph(
      new StateGraph(Trace)
        .addNode(
          'flaky',
          log.node('flaky', () => {
            tries += 1;
            if (tries % 2 === 1) throw new Error('try again');
            return { trace: ['flaky'] };
          }),
          { retryPolicy: { maxAttempts: 3, initialInterval: 1, jitter: false, logWarning: false } },
        )
        .addNode(
          'tell',
          log.node('tell', () => ({ messages: [say('told')] })),
        )
        .addEdge(START, 'flaky')
        .addEdge('flaky', 'tell')
        .compile(saving),
    );
  },
  turns: [message('one'), message('two')],
};

const endless: Shape = {
  name: 'recursion limit',
  recursionLimit: 5,
  build: (log, saving) => {
    const State = Annotation.Root({
      ...MessagesAnnotation.spec,
      n: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }),
    });
    return asGraph(
      new StateGraph(State)
        .addNode(
          'again',
          log.node('again', () => ({ n: 1 })),
        )
        .addEdge(START, 'again')
        .addConditionalEdges('again', (s) =>
          lastText(s.messages) === 'short' && s.n >= 3 ? END : 'again',
        )
        .compile(saving),
    );
  },
  turns: [message('short'), message('for ever')],
};

const deferred: Shape = {
  name: 'deferred node',
  width: 2,
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
          'b2',
          log.node('b2', () => ({ trace: ['b2'] })),
        )
        .addNode(
          'last',
          log.node('last', (s: TraceState) => ({ messages: [say(s.trace.join())] })),
          {
            defer: true,
          },
        )
        .addEdge(START, 'a')
        .addEdge(START, 'b')
        .addEdge('b', 'b2')
        .addEdge('a', 'last')
        .addEdge('b2', 'last')
        .compile(saving),
    ),
  turns: [message('one'), message('two')],
};

const unsaved: Shape = {
  name: 'compiled with checkpointer: false',
  build: (log, { checkpointer = false }) =>
    asGraph(
      new StateGraph(Trace)
        .addNode(
          'a',
          log.node('a', () => ({ trace: ['a'] })),
        )
        .addNode(
          'b',
          log.node('b', (s: TraceState) => ({ messages: [say(s.trace.join())] })),
        )
        .addEdge(START, 'a')
        .addEdge('a', 'b')
        .compile({ checkpointer }),
    ),
  turns: [message('one'), message('two')],
};

export const flowShapes: readonly Shape[] = [
  linear,
  loop,
  sendFanOut,
  commandGoto,
  fanIn,
  parallelTools,
  customReducer,
  removing,
  retried,
  endless,
  deferred,
  unsaved,
];
