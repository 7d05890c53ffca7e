/** A graph that its project makes for each run: the factory is asked anew, so nothing of one run is left for the next. */
import { runConfig } from './call.js';
import type { GraphRun } from './port.js';
import { unwrapGraph } from './project/graph-export.js';

export async function ownGraph<T extends Pick<GraphRun, 'graph' | 'identity' | 'call'>>(
  run: T,
): Promise<T> {
  const { factory } = run.graph;
  if (factory === undefined) return run;
  const graph = await unwrapGraph(await factory(runConfig(run), {}));
  return { ...run, graph: { ...run.graph, graph } };
}
