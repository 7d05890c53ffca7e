import {
  Annotation,
  END,
  START,
  StateGraph,
  type LangGraphRunnableConfig,
} from '@langchain/langgraph';

const State = Annotation.Root({ seen: Annotation<object> });

/** Everything a node is given, as far as it is data. */
function look(_state: unknown, config: LangGraphRunnableConfig) {
  const {
    configurable = {},
    metadata,
    tags,
    recursionLimit,
    context,
    signal,
    store,
    writer,
  } = config;
  const keys = Object.entries(configurable).filter(([key]) => !key.startsWith('__'));
  writer?.({ seen: true });
  return {
    seen: {
      configurable: Object.fromEntries(keys),
      ...{ metadata, tags, recursionLimit, context },
      signal: signal instanceof AbortSignal,
      store: typeof store?.put,
      writer: typeof writer,
      env: process.env.FROM_PROJECT,
      cwd: process.cwd(),
    },
  };
}

export const graph = new StateGraph(State)
  .addNode('look', look)
  .addEdge(START, 'look')
  .addEdge('look', END)
  .compile();
