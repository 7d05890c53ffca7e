/** Agents of the `langchain` package, and states that are kept as differences. */
import { AIMessage, type BaseMessage } from '@langchain/core/messages';
import { MessagesDeltaValue, START, StateGraph, StateSchema } from '@langchain/langgraph';
import {
  createAgent,
  createMiddleware,
  humanInTheLoopMiddleware,
  tool,
  modelCallLimitMiddleware,
} from 'langchain';
import { z } from 'zod';
import { asGraph, FollowModel, message, resume, say, type Log, type Shape } from './shape.js';

const toolsOf = (log: Log) =>
  ['left', 'right'].map((name) =>
    tool(
      ({ n }: { n: number }) => {
        log.add(name);
        return `${name} ${n}`;
      },
      { name, description: name, schema: z.object({ n: z.number() }) },
    ),
  );

/** The types of messages and middleware do not know `exactOptionalPropertyTypes`. */
const answering = (fields: object) => new AIMessage(fields);
const using = (...middleware: unknown[]) => ({ middleware: middleware as never });

/** Calls both tools once for each human message, then answers. */
const model = (log: Log) =>
  new FollowModel((messages: BaseMessage[]) => {
    const last = messages.at(-1);
    if (last?.type === 'tool') {
      return answering({
        content: `answer to ${messages.length} messages`,
        usage_metadata: { input_tokens: 3, output_tokens: 4, total_tokens: 7 },
      });
    }
    return answering({
      content: 'let me look',
      tool_calls: ['left', 'right'].map((name) => ({
        name,
        id: `${name}-${messages.length}`,
        args: { n: messages.length },
        type: 'tool_call',
      })),
      usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
    });
  }, log);

const counting = (log: Log) =>
  createMiddleware({
    name: 'counting',
    stateSchema: z.object({ calls: z.number().default(0) }),
    beforeModel: () => {
      log.add('beforeModel');
    },
    afterModel: (state) => {
      log.add('afterModel');
      return { calls: state.calls + 1 };
    },
  });

const agent: Shape = {
  name: 'createAgent with middleware',
  width: 2,
  build: (log, saving) =>
    asGraph(
      createAgent({
        model: model(log),
        tools: toolsOf(log),
        ...using(counting(log), modelCallLimitMiddleware({ threadLimit: 20 } as never)),
        ...saving,
      }).graph,
    ),
  turns: [message('one'), message('two'), message('three')],
};

const approving: Shape = {
  name: 'createAgent that asks before a tool',
  width: 2,
  build: (log, saving) =>
    asGraph(
      createAgent({
        model: model(log),
        tools: toolsOf(log),
        ...using(humanInTheLoopMiddleware({ interruptOn: { left: true } } as never)),
        ...saving,
      }).graph,
    ),
  turns: [
    message('one'),
    resume({ decisions: [{ type: 'approve' }] }),
    message('two'),
    resume({ decisions: [{ type: 'reject', message: 'no' }] }),
  ],
};

const delta: Shape = {
  name: 'DeltaChannel and MessagesDeltaValue',
  build: (log, saving) => {
    const State = new StateSchema({
      messages: MessagesDeltaValue,
    });
    interface S {
      messages: BaseMessage[];
    }
    return asGraph(
      new StateGraph(State)
        .addNode(
          'a',
          log.node('a', (s: S) => ({ messages: [say(`a ${s.messages.length}`)] })),
        )
        .addNode(
          'b',
          log.node('b', (s: S) => ({ messages: [say(`b ${s.messages.length}`)] })),
        )
        .addEdge(START, 'a')
        .addEdge('a', 'b')
        .compile(saving),
    );
  },
  turns: [message('one'), message('two'), message('three')],
};

export const agentShapes: readonly Shape[] = [agent, approving, delta];
