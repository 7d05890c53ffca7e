import type * as CoreMessages from '@langchain/core/messages';
import type * as LangGraph from '@langchain/langgraph';
import type * as Checkpoint from '@langchain/langgraph-checkpoint';
import type { FieldsSchema } from '../../contracts/fields.js';
import type { Isolation, Slice } from './project-config.js';

/**
 * The LangGraph that a project's graphs were built with, as values. The types are those of our own copy; the classes are
 * the project's, so nothing here may be compared with `instanceof` against an import of ours.
 */
export interface LangGraphModules {
  readonly langgraph: typeof LangGraph;
  readonly messages: typeof CoreMessages;
  readonly checkpoint: typeof Checkpoint;
  /** Stored beside what the project's serde wrote, so that a downgrade can be refused. */
  readonly versions: LangGraphVersions;
}

interface LangGraphVersions {
  readonly langgraph: string;
  readonly core: string;
  readonly checkpoint: string;
}

/** What we use of a compiled graph, whichever copy of LangGraph made it. */
export interface PregelGraph {
  readonly nodes: Readonly<Record<string, unknown>>;
  readonly channels: Readonly<Record<string, unknown>>;
  readonly inputChannels: string | readonly string[];
  readonly outputChannels: string | readonly string[];
  readonly streamChannels?: string | readonly string[] | undefined;
  readonly interruptBefore?: '*' | readonly string[] | undefined;
  readonly interruptAfter?: '*' | readonly string[] | undefined;
  readonly checkpointer?: unknown;
  /** Of a graph that was compiled; a StateGraph names its channels. */
  readonly builder?: unknown;
  readonly config?: unknown;
  invoke(input: unknown, options?: object): Promise<unknown>;
  stream(input: unknown, options?: object): Promise<AsyncIterable<unknown>>;
  getState(config: object, options?: object): Promise<unknown>;
  updateState(config: object, values: unknown, asNode?: string): Promise<unknown>;
  getSubgraphs?(namespace?: string, recurse?: boolean): Iterable<readonly [string, PregelGraph]>;
}

/** A graph of langgraph.json, ready to run. */
export interface LoadedGraph {
  readonly name: string;
  readonly description?: string;
  /** See `GraphSpec.slice`; a turn at once when absent. */
  readonly slice?: Slice;
  /** See `GraphSpec.isolation`; none when absent. */
  readonly isolation?: Isolation;
  /** See `GraphSpec.taskQueue`; the main one when absent. */
  readonly taskQueue?: string;
  /** What the typed fields of its threads may be; absent when it declares none. */
  readonly fields?: FieldsSchema;
  readonly graph: PregelGraph;
  readonly modules: LangGraphModules;
  /** The exported function, when the graph was made by one; it is called again for each run. */
  readonly factory?: GraphFactory;
}

/** `config` is a RunnableConfig; `runtime` is what the LangGraph server hands to factories beside it. */
export type GraphFactory = (config: object, runtime: object) => unknown;

/** A graph of langgraph.json that cannot be served; the others can. */
export interface GraphFailure {
  readonly name: string;
  readonly file: string;
  readonly exportName: string;
  /** One sentence for the person who starts the process: file, export and cause. */
  readonly message: string;
  readonly cause: unknown;
}

export interface LoadedProject {
  /** Name to graph, in the order of langgraph.json. */
  readonly graphs: ReadonlyMap<string, LoadedGraph>;
  readonly failures: readonly GraphFailure[];
  /** The first graph of the file, if it loaded. */
  readonly defaultGraph: LoadedGraph | undefined;
  readonly warnings: readonly string[];
  /** The folder that owns langgraph.json; the process works there since the load. */
  readonly workingDirectory: string;
  readonly modules: LangGraphModules;
}
