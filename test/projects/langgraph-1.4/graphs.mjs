import { END, interrupt, Send, START, StateGraph } from '@langchain/langgraph';
import { lastText, says, State, step } from './steps.mjs';

export const chat = new StateGraph(State)
  .addNode('think', step('think'))
  .addNode(
    'say',
    step('say', (state) => says(`echo: ${lastText(state)}`)),
  )
  .addEdge(START, 'think')
  .addEdge('think', 'say')
  .addEdge('say', END)
  .compile();

/** Three tasks by Send, then one that sees what all of them left. */
export const fan = new StateGraph(State)
  .addNode('plan', step('plan'))
  .addNode('work', async ({ item }) => ({ trace: [`work ${item}`] }))
  .addNode(
    'sum',
    step('sum', (state) => says(state.trace.join(' '))),
  )
  .addEdge(START, 'plan')
  .addConditionalEdges('plan', () => ['a', 'b', 'c'].map((item) => new Send('work', { item })))
  .addEdge('work', 'sum')
  .addEdge('sum', END)
  .compile();

/** Two branches of different length that are waited for. */
export const join = new StateGraph(State)
  .addNode('left', step('left'))
  .addNode('right', step('right'))
  .addNode('longer', step('longer'))
  .addNode(
    'both',
    step('both', (state) => says(state.trace.join(' '))),
  )
  .addEdge(START, 'left')
  .addEdge(START, 'right')
  .addEdge('right', 'longer')
  .addEdge(['left', 'longer'], 'both')
  .addEdge('both', END)
  .compile();

/** Stops before its second node until somebody lets it go on. */
export const gate = new StateGraph(State)
  .addNode('plan', step('plan'))
  .addNode(
    'act',
    step('act', () => says('acted')),
  )
  .addNode('after', step('after'))
  .addEdge(START, 'plan')
  .addEdge('plan', 'act')
  .addEdge('act', 'after')
  .addEdge('after', END)
  .compile({ interruptBefore: ['act'] });

const inner = new StateGraph(State)
  .addNode('one', step('one'))
  .addNode(
    'two',
    step('two', () => says('from inside')),
  )
  .addEdge(START, 'one')
  .addEdge('one', 'two')
  .addEdge('two', END)
  .compile();

export const nest = new StateGraph(State)
  .addNode('before', async () => ({ trace: ['before'] }))
  .addNode('inner', async (state, config) => {
    const { messages, trace } = await inner.invoke({ messages: state.messages }, config);
    return { messages: messages.slice(state.messages.length), trace };
  })
  .addNode('end', step('end'))
  .addEdge(START, 'before')
  .addEdge('before', 'inner')
  .addEdge('inner', 'end')
  .addEdge('end', END)
  .compile();

export const ask = new StateGraph(State)
  .addNode('think', step('think'))
  .addNode(
    'ask',
    step('ask', () => says(`hello ${interrupt({ question: 'name?' })}`)),
  )
  .addNode('after', step('after'))
  .addEdge(START, 'think')
  .addEdge('think', 'ask')
  .addEdge('ask', 'after')
  .addEdge('after', END)
  .compile();
