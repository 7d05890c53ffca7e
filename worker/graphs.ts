/** The graphs that this process serves: those of a langgraph.json, or the shipped one. */
import type { Logger } from 'pino';
import { liveEnvironment } from '../config/env.js';
import type { LoadedGraph } from '../engine/project/types.js';

/** Name of the shipped graph. */
export const shippedGraphName = 'agent';

export interface ServedGraphs {
  readonly graphs: ReadonlyMap<string, LoadedGraph>;
  readonly names: readonly string[];
  /** The first one: what a thread gets when no graph is named. */
  readonly default: string;
}

export interface GraphSources {
  /** Path of a langgraph.json; null serves the shipped graph. */
  readonly graphConfig: string | null;
  /** Model of the shipped graph. */
  readonly model: string;
}

/** @throws Error when no graph can be served; a graph that fails is logged with its file and cause, and the others serve */
export async function loadGraphs(sources: GraphSources, log: Logger): Promise<ServedGraphs> {
  return sources.graphConfig === null
    ? await shippedGraphs(sources.model)
    : await projectGraphs(sources.graphConfig, log);
}

/** The names that a gateway needs, without loading any graph. */
export async function servedNames(
  graphConfig: string | null,
): Promise<Pick<ServedGraphs, 'names' | 'default'>> {
  if (graphConfig === null) return { names: [shippedGraphName], default: shippedGraphName };
  const { readProjectConfig } = await import('../engine/project/project-config.js');
  const names = Object.keys((await readProjectConfig(graphConfig)).graphs);
  const first = names[0];
  if (first === undefined) throw new Error(`${graphConfig} names no graph.`);
  return { names, default: first };
}

async function shippedGraphs(spec: string): Promise<ServedGraphs> {
  const [
    { createAssistant },
    { openDocs, shippedDocsFolder },
    { createChatModel },
    { ownModules },
  ] = await Promise.all([
    import('../agents/assistant.js'),
    import('../agents/docs-index.js'),
    import('../llm/chat-model.js'),
    import('../engine/project/modules.js'),
  ]);
  const docs = openDocs(shippedDocsFolder);
  const model = await createChatModel(spec, { docs });
  const graph = createAssistant({ model, docs }) as unknown as LoadedGraph['graph'];
  const loaded: LoadedGraph = { name: shippedGraphName, graph, modules: await ownModules() };
  return {
    graphs: new Map([[shippedGraphName, loaded]]),
    names: [shippedGraphName],
    default: shippedGraphName,
  };
}

async function projectGraphs(file: string, log: Logger): Promise<ServedGraphs> {
  const { loadProject } = await import('../engine/project/load-project.js');
  const project = await loadProject(file, { env: liveEnvironment() });
  for (const warning of project.warnings) log.warn(warning);
  for (const failure of project.failures) log.error(failure.message);
  const names = [...project.graphs.keys()];
  const first = names[0];
  if (first === undefined) {
    const reasons = project.failures.map((f) => f.message).join('\n');
    throw new Error(`No graph of ${file} can be served.\n${reasons}`);
  }
  return { graphs: project.graphs, names, default: first };
}
