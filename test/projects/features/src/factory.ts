import { Annotation, END, START, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({ made: Annotation<string> });
let calls = 0;

/** Made for each run, and not without a flavor: a factory may look for keys of its caller. */
export function makeGraph(config: { configurable?: { flavor?: string } }) {
  const { flavor } = config.configurable ?? {};
  if (flavor === undefined) throw new Error('no flavor');
  calls += 1;
  const made = `${flavor} ${calls}`;
  return new StateGraph(State)
    .addNode('tell', () => ({ made }))
    .addEdge(START, 'tell')
    .addEdge('tell', END);
}
