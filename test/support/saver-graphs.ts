/** Graphs for the saver's tests. Replies follow from the state alone, so that two runs can be compared. */
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import {
  Annotation,
  interrupt,
  messagesStateReducer,
  MessagesAnnotation,
  Send,
  StateGraph,
} from '@langchain/langgraph';

type Messages = typeof MessagesAnnotation.State;

export const human = (text: string): { messages: BaseMessage[] } => ({
  messages: [new HumanMessage({ id: `human-${text}`, content: text })],
});

const said = (messages: readonly BaseMessage[], text: string): AIMessage =>
  new AIMessage({ id: `ai-${messages.length}`, content: text });

/** One node. */
export const chat = new StateGraph(MessagesAnnotation)
  .addNode('model', ({ messages }) => ({
    messages: [said(messages, `This is reply number ${messages.length}, of an ordinary length.`)],
  }))
  .addEdge('__start__', 'model')
  .addEdge('model', '__end__')
  .compile();

/** As `createAgent` does it: the whole state travels with each tool call. */
export const agent = new StateGraph(MessagesAnnotation)
  .addNode('model', ({ messages }: Messages) => {
    const asked = messages.at(-1)?.type === 'human';
    if (!asked) return { messages: [said(messages, 'Both tools have answered.')] };
    const calls = ['a', 'b'].map((name) => ({ id: `${name}-${messages.length}`, name, args: {} }));
    return {
      messages: [new AIMessage({ id: `ai-${messages.length}`, content: '', tool_calls: calls })],
    };
  })
  .addNode('tools', (state: Messages & { call: { id: string; name: string } }) => ({
    messages: [
      new ToolMessage({
        ...{ id: `tool-${state.call.id}`, tool_call_id: state.call.id, name: state.call.name },
        content: `${state.call.name} saw ${state.messages.length} messages`,
      }),
    ],
  }))
  .addEdge('__start__', 'model')
  .addConditionalEdges('model', (state: Messages) => {
    const last = state.messages.at(-1);
    const calls = last instanceof AIMessage ? (last.tool_calls ?? []) : [];
    return calls.length === 0
      ? '__end__'
      : calls.map((call) => new Send('tools', { ...state, call }));
  })
  .addEdge('tools', 'model')
  .compile();

const Log = Annotation.Root({
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

/** Asks twice in one node, then goes on. */
export const asking = new StateGraph(Log)
  .addNode('ask', () => {
    const [name, age] = [interrupt<string, string>('name?'), interrupt<string, string>('age?')];
    return { log: [`${name} is ${age}`] };
  })
  .addNode('after', ({ log }) => ({ log: [`after ${log.length}`] }))
  .addEdge('__start__', 'ask')
  .addEdge('ask', 'after')
  .compile();

/** A gate lets a node wait for its test, and counts how often it has run. */
export class Gate {
  runs = 0;
  #open: () => void = () => undefined;
  #opened = new Promise<void>((resolve) => (this.#open = resolve));

  open(): void {
    this.#open();
  }
  async pass(): Promise<void> {
    this.runs += 1;
    await this.#opened;
  }
}

/** `quick` and `slow` run side by side, `slow` behind its gate; then `last`. */
export const parallel = (quick: Gate, slow: Gate) =>
  new StateGraph(Log)
    .addNode('quick', async () => {
      await quick.pass();
      return { log: ['quick'] };
    })
    .addNode('slow', async () => {
      await slow.pass();
      return { log: ['slow'] };
    })
    .addNode('last', ({ log }) => ({ log: [`last of ${log.length}`] }))
    .addEdge('__start__', 'quick')
    .addEdge('__start__', 'slow')
    .addEdge(['quick', 'slow'], 'last')
    .compile();

/** Two nodes in a subgraph, the second behind its gate. */
export const nested = (inner: Gate, outer: Gate) => {
  const sub = new StateGraph(Log)
    .addNode('one', async () => {
      inner.runs += 1;
      await Promise.resolve();
      return { log: ['one'] };
    })
    .addNode('two', async () => {
      await outer.pass();
      return { log: ['two'] };
    })
    .addEdge('__start__', 'one')
    .addEdge('one', 'two')
    .compile();
  return new StateGraph(Log).addNode('sub', sub).addEdge('__start__', 'sub').compile();
};

/** The node changes an old message in place, and returns only a new one. */
export const editing = new StateGraph(
  Annotation.Root({
    messages: Annotation<BaseMessage[]>({ reducer: messagesStateReducer, default: () => [] }),
  }),
)
  .addNode('model', ({ messages }) => {
    const [first] = messages;
    if (first !== undefined && messages.length > 1) {
      first.content = `edited at ${messages.length}`;
      first.additional_kwargs.seen = messages.length;
    }
    return { messages: [said(messages, 'ok')] };
  })
  .addEdge('__start__', 'model')
  .compile();
