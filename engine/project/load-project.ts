import { isMainThread } from 'node:worker_threads';
import { statefulSubgraphs, unwrapGraph } from './graph-export.js';
import { importGraphExport, isCommonJs } from './graph-file.js';
import { projectModules, type ModuleFormat, type ProjectModules } from './modules.js';
import { readProjectConfig, type GraphSpec } from './project-config.js';
import { applyProjectEnv } from './project-env.js';
import type { GraphFailure, LoadedGraph, LoadedProject } from './types.js';

export interface LoadOptions {
  /** The variables of this process; the project's own are added to it, since its code reads them there. */
  readonly env: NodeJS.ProcessEnv;
  /** Loads only these graphs; all of them unless given. */
  readonly only?: (spec: GraphSpec) => boolean;
}

/**
 * Loads every graph of a langgraph.json, unmodified. One project per process: its folder becomes the working directory and
 * its variables those of the process, before any of its code runs.
 * @throws Error when the file itself cannot be used; a graph that fails is in `failures`, and the others serve
 */
export async function loadProject(
  configPath: string,
  { env, only = () => true }: LoadOptions,
): Promise<LoadedProject> {
  const config = await readProjectConfig(configPath);
  const warnings = [...config.warnings, ...(await applyProjectEnv(config, env))];
  // The working directory is the process's: a thread finds it as the main thread has set it.
  if (isMainThread) process.chdir(config.folder);

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
      const graph = await loadGraph(config.folder, spec, modulesAs);
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

async function loadGraph(
  folder: string,
  spec: GraphSpec,
  modulesAs: (format: ModuleFormat) => Promise<ProjectModules['modules']>,
): Promise<LoadedGraph> {
  const unwrapped = await unwrapGraph(await importGraphExport(folder, spec));
  const { file: _file, exportName: _exportName, ...named } = spec;
  const likely: ModuleFormat = isCommonJs(folder, spec) ? 'cjs' : 'esm';
  let modules = await modulesAs(likely);
  // A bundler or loader may have given the file the other build; the graph itself knows which class made it.
  if (!madeBy(modules, unwrapped.graph)) {
    const other = await modulesAs(likely === 'esm' ? 'cjs' : 'esm');
    if (madeBy(other, unwrapped.graph)) modules = other;
  }
  return { ...named, ...unwrapped, modules };
}

/** Pregel itself is not exported by every version; it is the base of what `compile` returns, two classes up. */
function madeBy({ langgraph }: ProjectModules['modules'], graph: object): boolean {
  const pregel = Object.getPrototypeOf(
    Object.getPrototypeOf(langgraph.CompiledStateGraph.prototype),
  ) as object;
  return Object.prototype.isPrototypeOf.call(pregel, graph);
}

function graphWarnings(loaded: LoadedGraph): string[] {
  const { name, graph, modules } = loaded;
  const warnings = statefulSubgraphs(graph).map(
    (subgraph) =>
      `Graph "${name}": the subgraph "${subgraph}" is compiled with checkpointer: true; a crash just before it runs can repeat or lose its work.`,
  );
  if (!madeBy(modules, graph))
    warnings.push(
      `Graph "${name}" was made by a copy of LangGraph that its folder does not resolve to; resuming it may fail.`,
    );
  return warnings;
}

function failureOf(spec: GraphSpec, cause: unknown): GraphFailure {
  const { name, file, exportName } = spec;
  const reason = cause instanceof Error ? cause.message : String(cause);
  const message = `Graph "${name}" (${file}, export "${exportName}") could not be loaded: ${reason}`;
  return { name, file, exportName, message, cause };
}
