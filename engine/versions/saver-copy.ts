/**
 * Before 0.3 a compiled graph may overlook the saver of a call (0.2.5 takes it only beside breakpoints, and `getState` not
 * at all), so it is called through a copy that holds the saver itself. The shared graph stays as it is.
 */
import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import type { PregelGraph } from '../project/types.js';

export const withSaver = (
  graph: PregelGraph,
  checkpointer: BaseCheckpointSaver | undefined,
): PregelGraph =>
  Object.assign(Object.create(Object.getPrototypeOf(graph) as object) as PregelGraph, graph, {
    checkpointer,
  });
