import { AIMessage } from '@langchain/core/messages';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';

const graphOf = (node: () => Promise<object>) =>
  new StateGraph(MessagesAnnotation)
    .addNode('node', node)
    .addEdge(START, 'node')
    .addEdge('node', END)
    .compile();

export const exits = graphOf(async () => {
  process.exit(3);
});

export const rejects = graphOf(async () => {
  void Promise.reject(new Error('nobody waits for this'));
  return { messages: [new AIMessage('went on')] };
});

let runs = 0;
/** State of the module is one for all threads of the process, as it is with `invoke`. */
export const counts = graphOf(async () => ({ messages: [new AIMessage(`run ${++runs}`)] }));
