/** The graphs that this process serves: those of a langgraph.json, or the shipped one. */
import type { Logger } from 'pino';
import type { AgentConfig } from '../config/agents.js';
import { liveEnvironment } from '../config/env.js';
import type { FieldsSchema } from '../contracts/fields.js';
import { supportGraph } from '../contracts/support.schema.js';
import type { LoadedGraph } from '../engine/project/types.js';
import type { MemoryStore } from '../memory/store.js';
import { fieldsDeclaredBy, fieldsOfGraphs, intakeName } from './declared-fields.js';
import { laterMemory } from './later-memory.js';

/** The shipped graph that a thread gets when none is named. */
export const shippedGraphName = 'agent';
const shippedNames: readonly string[] = [shippedGraphName, intakeName, supportGraph];

export interface ServedGraphs {
  readonly graphs: ReadonlyMap<string, LoadedGraph>;
  readonly names: readonly string[];
  /** The first one: what a thread gets when no graph is named. */
  readonly default: string;
  /** Graphs that declare typed fields; null where the schema cannot be loaded here. */
  readonly fields: ReadonlyMap<string, FieldsSchema | null>;
}

export interface GraphSources {
  /** Path of a langgraph.json; null serves the shipped graph. */
  readonly graphConfig: string | null;
  /** Model of the shipped graph. */
  readonly model: string;
  readonly agents: AgentConfig;
  /** Folder of the documents that `support` answers from; null takes the shipped ones. */
  readonly supportDocs: string | null;
}

export interface GraphDeps {
  readonly log: Logger;
  /** For the shipped graphs; opened while they are loaded. */
  readonly memory: Promise<MemoryStore>;
}

/** @throws Error when no graph can be served; a graph that fails is logged with its file and cause, and the others serve */
export async function loadGraphs(sources: GraphSources, deps: GraphDeps): Promise<ServedGraphs> {
  // Whoever opens the database tells why it fails, perhaps before a graph asks for it, and a project's never do.
  deps.memory.catch(() => undefined);
  return sources.graphConfig === null
    ? await shippedGraphs(sources, deps)
    : await projectGraphs(sources.graphConfig, deps.log);
}

/** The names that a gateway needs, without loading any graph. */
export async function servedNames(
  graphConfig: string | null,
  onTrouble: (what: string) => void,
): Promise<Omit<ServedGraphs, 'graphs'>> {
  const fields = await fieldsDeclaredBy(graphConfig, onTrouble);
  if (graphConfig === null) return { names: shippedNames, default: shippedGraphName, fields };
  const { readProjectConfig } = await import('../engine/project/project-config.js');
  const names = Object.keys((await readProjectConfig(graphConfig)).graphs);
  const first = names[0];
  if (first === undefined) throw new Error(`${graphConfig} names no graph.`);
  return { names, default: first, fields };
}

async function shippedGraphs(sources: GraphSources, deps: GraphDeps): Promise<ServedGraphs> {
  const [
    { createAssistant },
    { createIntake },
    { intakeFields },
    { createSupport },
    { openLibrary },
    { openDocs, shippedDocsFolder },
    { createChatModel },
    { ownModules },
  ] = await Promise.all([
    import('../agents/assistant.js'),
    import('../agents/intake/intake.js'),
    import('../agents/intake/fields.js'),
    import('../agents/support/support.js'),
    import('../agents/support/library.js'),
    import('../agents/docs-index.js'),
    import('../llm/chat-model.js'),
    import('../engine/project/modules.js'),
  ]);
  const docs = openDocs(shippedDocsFolder);
  const { model: spec, agents } = sources;
  const model = await createChatModel(spec, { docs });
  const cheapModel =
    agents.summaryModel === null ? model : await createChatModel(agents.summaryModel, { docs });
  const agentDeps = { model, cheapModel, modelName: spec, settings: agents };
  const memory = laterMemory(deps.memory);
  const graph = createAssistant({
    ...agentDeps,
    ...{ docs, memory },
  }) as unknown as LoadedGraph['graph'];
  const modules = await ownModules();
  const loaded: LoadedGraph = { name: shippedGraphName, graph, modules };
  const intake: LoadedGraph = {
    name: intakeName,
    graph: createIntake({
      model: spec === 'builtin' ? undefined : model,
    }) as unknown as LoadedGraph['graph'],
    fields: intakeFields,
    modules,
  };
  const library = openLibrary(sources.supportDocs ?? shippedDocsFolder);
  // An operator's folder that holds nothing is said now, not at the first question.
  if (sources.supportDocs !== null) library.areas();
  const support: LoadedGraph = {
    name: supportGraph,
    graph: createSupport({ ...agentDeps, library, memory }) as unknown as LoadedGraph['graph'],
    modules,
  };
  return served(new Map([loaded, intake, support].map((one) => [one.name, one])), shippedGraphName);
}

const served = (graphs: ReadonlyMap<string, LoadedGraph>, first: string): ServedGraphs => ({
  graphs,
  names: [...graphs.keys()],
  default: first,
  fields: fieldsOfGraphs(graphs),
});

async function projectGraphs(file: string, log: Logger): Promise<ServedGraphs> {
  const { loadProject } = await import('../engine/project/load-project.js');
  const project = await loadProject(file, { env: liveEnvironment() });
  for (const warning of project.warnings) log.warn(warning);
  for (const failure of project.failures) log.error(failure.message);
  const [first] = project.graphs.keys();
  if (first === undefined) {
    const reasons = project.failures.map((f) => f.message).join('\n');
    throw new Error(`No graph of ${file} can be served.\n${reasons}`);
  }
  return served(project.graphs, first);
}
