import { setTimeout } from 'node:timers/promises';
import { AIMessage } from '@langchain/core/messages';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { word } from './words.js';

/** A message "wait" leaves time for an edit while its turn runs. */
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('wait', async ({ messages }) => {
    if (messages.at(-1)?.text === 'wait') await setTimeout(1_500);
    return {};
  })
  .addNode('say', () => ({ messages: [new AIMessage(word)] }))
  .addEdge(START, 'wait')
  .addEdge('wait', 'say')
  .addEdge('say', END)
  .compile();
