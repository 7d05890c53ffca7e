/** Two bots that say the same; one of them holds its thread while it does. */
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { asyncScans, blockingScans } from './scans.js';
import { ScannerModel } from './scanner-model.js';

const bot = (model: ScannerModel) =>
  new StateGraph(MessagesAnnotation)
    .addNode('track', async ({ messages }, config) => ({
      messages: [await model.invoke(messages, config)],
    }))
    .addEdge(START, 'track')
    .compile();

export const blocking = bot(new ScannerModel(blockingScans));
export const waiting = bot(new ScannerModel(asyncScans));
