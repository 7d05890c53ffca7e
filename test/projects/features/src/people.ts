import { AIMessage } from '@langchain/core/messages';
import {
  Annotation,
  END,
  interrupt,
  MessagesAnnotation,
  START,
  StateGraph,
} from '@langchain/langgraph';

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  answers: Annotation<string[]>({ reducer: (a, b) => [...a, ...b].sort(), default: () => [] }),
  note: Annotation<string>,
});

const asks = (what: string) => () => ({ answers: [`${what}: ${interrupt({ what })}`] });

/** Two people are asked at once; each may answer when they like. */
export const questions = new StateGraph(State)
  .addNode('size', asks('size'))
  .addNode('color', asks('color'))
  .addNode('both', ({ answers }) => ({ messages: [new AIMessage(answers.join(', '))] }))
  .addEdge(START, 'size')
  .addEdge(START, 'color')
  .addEdge(['size', 'color'], 'both')
  .addEdge('both', END)
  .compile();

const says =
  (text: string) =>
  ({ note }: { note?: string }) => ({
    messages: [new AIMessage(note ? `${text} (${note})` : text)],
  });

/** Three nodes in a row, stopped by whoever runs it. */
export const steps = new StateGraph(State)
  .addNode('one', says('one'))
  .addNode('two', says('two'))
  .addNode('three', says('three'))
  .addEdge(START, 'one')
  .addEdge('one', 'two')
  .addEdge('two', 'three')
  .addEdge('three', END)
  .compile();
