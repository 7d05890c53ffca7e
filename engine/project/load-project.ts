import { isMainThread } from 'node:worker_threads';
import { checkFieldsChannel, loadFields } from './fields-export.js';
import { factoryOf, statefulSubgraphs, unwrapGraph } from './graph-export.js';
import { importGraphExport, isCommonJs } from './graph-file.js';
import { forgetFiles } from './loadings.js';
import { projectModules, type ModuleFormat, type ProjectModules } from './modules.js';
import { readProjectConfig, type GraphSpec, type ProjectConfig } from './project-config.js';
import { applyProjectEnv } from './project-env.js';
import type {
  GraphFactory,
  GraphFailure,
  LoadedGraph,
  LoadedProject,
  PregelGraph,
} from './types.js';

export interface LoadOptions {
  /** The variables of this process; the project's own are added to it, since its code reads them there. */
  readonly env: NodeJS.ProcessEnv;
  /** Loads only these graphs; all of them unless given. */
  readonly only?: (spec: GraphSpec) => boolean;
  /** Counts from 0: later ones load the project's files, not its packages, once more. */
  readonly loading?: number;
}

/**
 * Loads every graph of a langgraph.json, unmodified. One project per process: its folder becomes the working directory and
 * its variables those of the process, before any of its code runs.
 * @throws Error when the file itself cannot be used; a graph that fails is in `failures`, and the others serve
 */
export async function loadProject(
  configPath: string,
  { env, only = () => true, loading = 0 }: LoadOptions,
): Promise<LoadedProject> {
  const config = await readProjectConfig(configPath);
  const warnings = [
    ...config.warnings,
    ...otherNode(config),
    ...(await applyProjectEnv(config, env)),
  ];
  // The working directory is the process's: a thread finds it as the main thread has set it.
  if (isMainThread) process.chdir(config.folder);

  if (loading > 0) forgetFiles(config.folder);
  const copies = new Map<ModuleFormat, ProjectModules>();
  const modulesAs = async (format: ModuleFormat): Promise<ProjectModules['modules']> => {
    let copy = copies.get(format);
    if (copy === undefined) {
      copy = await projectModules(config.folder, format);
      copies.set(format, copy);
      warnings.push(...copy.warnings.filter((w) => !warnings.includes(w)));
    }
    return copy.modules;
  };

  const graphs = new Map<string, LoadedGraph>();
  const failures: GraphFailure[] = [];
  // One after the other: a file that several graphs share is then evaluated once, in the order of langgraph.json.
  for (const spec of Object.values(config.graphs).filter(only)) {
    try {
      const graph = await loadGraph({ folder: config.folder, loading, modulesAs }, spec);
      graphs.set(spec.name, graph);
      warnings.push(...graphWarnings(graph));
    } catch (cause) {
      failures.push(failureOf(spec, cause));
    }
  }
  const [first] = Object.keys(config.graphs);
  return {
    graphs,
    failures,
    defaultGraph: first === undefined ? undefined : graphs.get(first),
    warnings,
    workingDirectory: config.folder,
    modules: [...graphs.values()][0]?.modules ?? (await modulesAs('esm')),
  };
}

/** The process runs on the Node that it was started with. */
export function otherNode({ nodeVersion }: ProjectConfig): string[] {
  const { node } = process.versions;
  return nodeVersion === undefined || node.startsWith(`${nodeVersion}.`)
    ? []
    : [`langgraph.json: the project asks for Node ${nodeVersion}; this is ${node}.`];
}

interface Loading {
  readonly folder: string;
  readonly loading: number;
  readonly modulesAs: (format: ModuleFormat) => Promise<ProjectModules['modules']>;
}

async function loadGraph(
  { folder, loading, modulesAs }: Loading,
  spec: GraphSpec,
): Promise<LoadedGraph> {
  const exported = await importGraphExport(folder, spec, loading);
  const made = await graphOrFactory(exported);
  const { file: _file, exportName: _exportName, fields: _fields, ...named } = spec;
  const fields = await loadFields(folder, spec, loading);
  if (fields !== undefined) checkFieldsChannel(made.graph);
  const likely: ModuleFormat = isCommonJs(folder, spec) ? 'cjs' : 'esm';
  let modules = await modulesAs(likely);
  // A bundler or loader may have given the file the other build; the graph itself knows which class made it.
  if (!madeBy(modules, made.graph)) {
    const other = await modulesAs(likely === 'esm' ? 'cjs' : 'esm');
    if (madeBy(other, made.graph)) modules = other;
  }
  return { ...named, ...made, modules, ...(fields !== undefined && { fields }) };
}

interface Made {
  readonly graph: PregelGraph;
  readonly factory?: GraphFactory;
  /** What the factory threw when it was asked without a run. */
  readonly unasked?: string;
}

/**
 * A factory is asked for each run; here only to see whether it makes a graph. One that cannot do so without a run (it
 * looks for keys of a caller) is served all the same.
 */
async function graphOrFactory(exported: unknown): Promise<Made> {
  const factory = factoryOf(exported);
  if (factory === undefined) return { graph: await unwrapGraph(exported) };
  let product: unknown;
  try {
    product = await factory({ configurable: {} }, {});
  } catch (error) {
    return { graph: noGraphYet, factory, unasked: reasonOf(error) };
  }
  return { graph: await unwrapGraph(product), factory };
}

/** Stands in until the factory is asked with a run. */
const noGraphYet: PregelGraph = {
  nodes: {},
  channels: {},
  inputChannels: [],
  outputChannels: [],
  invoke: () => Promise.reject(new Error('the factory has not made this graph')),
  stream: () => Promise.reject(new Error('the factory has not made this graph')),
  getState: () => Promise.reject(new Error('the factory has not made this graph')),
  updateState: () => Promise.reject(new Error('the factory has not made this graph')),
};

/** Pregel itself is not exported by every version; it is the base of what `compile` returns, two classes up. */
function madeBy({ langgraph }: ProjectModules['modules'], graph: PregelGraph): boolean {
  if (graph === noGraphYet) return true;
  // 0.2.5 exports builders alone, and all its graphs have one.
  if ((langgraph.CompiledStateGraph as unknown) === undefined)
    return (graph as { builder?: unknown }).builder instanceof langgraph.Graph;
  const pregel = Object.getPrototypeOf(
    Object.getPrototypeOf(langgraph.CompiledStateGraph.prototype),
  ) as object;
  return Object.prototype.isPrototypeOf.call(pregel, graph);
}

function graphWarnings(loaded: LoadedGraph & { readonly unasked?: string }): string[] {
  const { name, graph, modules, unasked } = loaded;
  const warnings = statefulSubgraphs(graph).map(
    (subgraph) =>
      `Graph "${name}": the subgraph "${subgraph}" is compiled with checkpointer: true; a crash just before it runs can repeat or lose its work.`,
  );
  if (!madeBy(modules, graph))
    warnings.push(
      `Graph "${name}" was made by a copy of LangGraph that its folder does not resolve to; resuming it may fail.`,
    );
  if (unasked !== undefined)
    warnings.push(
      `Graph "${name}": its factory threw without a run (${unasked}); it is asked again for each run.`,
    );
  return warnings;
}

const reasonOf = (cause: unknown): string =>
  cause instanceof Error ? cause.message : String(cause);

function failureOf(spec: GraphSpec, cause: unknown): GraphFailure {
  const { name, file, exportName } = spec;
  const message = `Graph "${name}" (${file}, export "${exportName}") could not be loaded: ${reasonOf(cause)}`;
  return { name, file, exportName, message, cause };
}
