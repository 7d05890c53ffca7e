/** The graphs that this process serves: those of a langgraph.json, or the shipped one. */
import type { Logger } from 'pino';
import type { AgentConfig } from '../config/agents.js';
import { liveEnvironment } from '../config/env.js';
import type { WorkerQueues } from '../config/queues.js';
import type { FieldsSchema } from '../contracts/fields.js';
import { supportGraph } from '../contracts/support.schema.js';
import { mainQueue } from '../contracts/task-queues.js';
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
  /** Short name of the task queue of each graph, loaded here or not, that does not live on the main one. */
  readonly places: ReadonlyMap<string, string>;
}

/** The graphs of a worker. */
export interface LoadedGraphs extends ServedGraphs {
  /** Task queues that it serves: short names. */
  readonly queues: readonly string[];
}

/** What a worker's half of a process needs of it. */
export const placesOf = ({
  queues,
  places,
}: LoadedGraphs): Pick<LoadedGraphs, 'queues' | 'places'> => ({ queues, places });

export interface GraphSources {
  /** Path of a langgraph.json; null serves the shipped graph. */
  readonly graphConfig: string | null;
  /** Model of the shipped graph. */
  readonly model: string;
  readonly agents: AgentConfig;
  /** Folder of the documents that `support` answers from; null takes the shipped ones. */
  readonly supportDocs: string | null;
  /** Task queues to serve: only the graphs that live there are loaded. */
  readonly workerQueues: WorkerQueues;
}

export interface GraphDeps {
  readonly log: Logger;
  /** For the shipped graphs; opened while they are loaded. */
  readonly memory: Promise<MemoryStore>;
}

/** @throws Error when no graph can be served; a graph that fails is logged with its file and cause, and the others serve */
export async function loadGraphs(sources: GraphSources, deps: GraphDeps): Promise<LoadedGraphs> {
  // Whoever opens the database tells why it fails, perhaps before a graph asks for it, and a project's never do.
  deps.memory.catch(() => undefined);
  const { graphConfig, workerQueues } = sources;
  if (graphConfig === null) {
    const queues = queuesServed(workerQueues, nowhereElse, 'the shipped graphs');
    return { ...(await shippedGraphs(sources, deps)), queues };
  }
  return await projectGraphs(graphConfig, workerQueues, deps.log);
}

/** The names that a gateway needs, without loading any graph. */
export async function servedNames(
  graphConfig: string | null,
  onTrouble: (what: string) => void,
): Promise<Omit<ServedGraphs, 'graphs'>> {
  const fields = await fieldsDeclaredBy(graphConfig, onTrouble);
  if (graphConfig === null)
    return { names: shippedNames, default: shippedGraphName, fields, places: nowhereElse };
  const { queuePlaces, readProjectConfig } = await import('../engine/project/project-config.js');
  const project = await readProjectConfig(graphConfig);
  const names = Object.keys(project.graphs);
  const first = names[0];
  if (first === undefined) throw new Error(`${graphConfig} names no graph.`);
  return { names, default: first, fields, places: queuePlaces(project) };
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
  const all = new Map([loaded, intake, support].map((one) => [one.name, one]));
  return served(all, shippedGraphName, nowhereElse);
}

/** All on the main queue. */
const nowhereElse: ReadonlyMap<string, string> = new Map();

const served = (
  graphs: ReadonlyMap<string, LoadedGraph>,
  first: string,
  places: ServedGraphs['places'],
): ServedGraphs => ({
  ...{ graphs, places, names: [...graphs.keys()] },
  default: first,
  fields: fieldsOfGraphs(graphs),
});

/** @throws Error when a queue is to be served that no graph lives on: probably a slip of the pen */
function queuesServed(
  wanted: WorkerQueues,
  places: ReadonlyMap<string, string>,
  project: string,
): readonly string[] {
  const known = [mainQueue, ...new Set(places.values())];
  if (wanted === 'all') return known;
  for (const name of wanted)
    if (!known.includes(name))
      throw new Error(
        `No graph of ${project} lives on the task queue "${name}" (EVERTHREAD_WORKER_QUEUES, --task-queue). ` +
          `Its task queues: ${known.join(', ')}.`,
      );
  return wanted;
}

async function projectGraphs(
  file: string,
  workerQueues: WorkerQueues,
  log: Logger,
): Promise<LoadedGraphs> {
  const [{ loadProject }, { queuePlaces, readProjectConfig }] = await Promise.all([
    import('../engine/project/load-project.js'),
    import('../engine/project/project-config.js'),
  ]);
  const config = await readProjectConfig(file);
  const specs = Object.values(config.graphs);
  const places = queuePlaces(config);
  const queues = queuesServed(workerQueues, places, file);
  const only = ({ taskQueue = mainQueue }: { readonly taskQueue?: string }): boolean =>
    queues.includes(taskQueue);
  const project = await loadProject(file, { env: liveEnvironment(), only });
  for (const warning of project.warnings) log.warn(warning);
  for (const failure of project.failures) log.error(failure.message);
  // A worker of the main queue alone runs no turn when all graphs live elsewhere, but it runs their threads.
  const [first] = project.graphs.size > 0 ? project.graphs.keys() : places.keys();
  if (first === undefined || (project.graphs.size === 0 && specs.some(only))) {
    const reasons = project.failures.map((f) => f.message).join('\n');
    throw new Error(`No graph of ${file} can be served.\n${reasons}`);
  }
  return { ...served(project.graphs, first, places), queues };
}
