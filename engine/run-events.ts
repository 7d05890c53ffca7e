/** LangChain's callbacks of a run, told as plain events: which nodes, models and tools run, and for how long. */
import type { RunEvent, RunListener, RunPart } from '../contracts/run-event.js';

/**
 * @returns a callback handler for the call. Told from others by its shape, not by its class: a project brings its own LangChain.
 */
export function runEvents(tell: RunListener): object {
  const { begin, end } = openRuns(tell);
  const failed = (error: unknown, id: string): void => end(id, { error: classOf(error) });
  const succeeded = (_output: unknown, id: string): void => end(id);
  const model = (...[, , id, parent, extra, , metadata]: ModelStart): void =>
    begin(id, modelOf(metadata, extra), parent);
  return {
    name: 'run_events',
    // A handler in the background would be told late, and of a run that is over.
    awaitHandlers: true,
    handleChainStart: (...[, , id, parent, tags, metadata, , other]: ChainStart) =>
      begin(id, nodeOf(tags, metadata), parent, other),
    handleChainEnd: succeeded,
    handleChainError: failed,
    handleChatModelStart: model,
    handleLLMStart: model,
    handleLLMEnd: (output: unknown, id: string) => end(id, tokensOf(output as ModelEnd)),
    handleLLMError: failed,
    handleToolStart: (...[, , id, parent, , , name]: ToolStart) =>
      begin(id, { what: 'tool', name: name ?? 'tool' }, parent),
    handleToolEnd: succeeded,
    handleToolError: failed,
  };
}

type End = Omit<Extract<RunEvent, { kind: 'ended' }>, 'kind' | 'id' | 'atMs'>;

/** Runs that are not told (chains within nodes, a subgraph) pass on what they are within. */
function openRuns(tell: RunListener) {
  /** Of each open run: the innermost told part that it is, or is within. */
  const open = new Map<string, string | undefined>();
  return {
    begin: (id: string, part: RunPart | undefined, ...parents: (string | undefined)[]): void => {
      const within = parents.map((parent = '') => open.get(parent)).find((told) => told);
      open.set(id, part === undefined ? within : id);
      if (part === undefined) return;
      const inside = within === undefined ? {} : { within };
      tell({ kind: 'began', id, atMs: nowMs(), part, ...inside });
    },
    end: (id: string, how: End = {}): void => {
      if (open.get(id) === id) tell({ kind: 'ended', id, atMs: nowMs(), ...how });
      open.delete(id);
    },
  };
}

const nowMs = (): number => performance.timeOrigin + performance.now();

type Metadata = Readonly<Record<string, unknown>> | undefined;
/** Object, inputs, run, parent, tags, metadata, type, name; by the types of newer releases the parent is the last one. */
type ChainStart = [
  unknown,
  unknown,
  string,
  string?,
  (readonly string[])?,
  Metadata?,
  string?,
  string?,
];
/** Object, messages, run, parent, parameters, tags, metadata. */
type ModelStart = [unknown, unknown, string, string?, Metadata?, unknown?, Metadata?];
/** Object, input, run, parent, tags, metadata, name. */
type ToolStart = [unknown, unknown, string, string?, unknown?, unknown?, string?];

/** LangGraph tags the run of a task itself, and not what runs within it. */
function nodeOf(tags: readonly string[] = [], metadata: Metadata = {}): RunPart | undefined {
  const { langgraph_node: name, langgraph_step: step } = metadata;
  // What stands before the first node is LangGraph's own.
  if (typeof name !== 'string' || name === '__start__') return undefined;
  if (!tags.some((tag) => tag.startsWith('graph:step:'))) return undefined;
  return { what: 'node', name, step: typeof step === 'number' ? step : 0 };
}

/** As LangChain's models name themselves for LangSmith. */
function modelOf(metadata: Metadata = {}, extra: Metadata = {}): RunPart {
  const { ls_provider: provider, ls_model_name: named } = metadata;
  const { model } = (extra.invocation_params ?? {}) as { readonly model?: unknown };
  return { what: 'model', provider: wordOf(provider), model: wordOf(named ?? model) };
}

const wordOf = (value: unknown): string => (typeof value === 'string' ? value : 'unknown');

interface ModelEnd {
  readonly generations?: readonly (readonly {
    readonly message?: {
      readonly usage_metadata?: { readonly input_tokens?: number; readonly output_tokens?: number };
    };
  }[])[];
}

function tokensOf({ generations }: ModelEnd): End {
  const usage = generations?.[0]?.[0]?.message?.usage_metadata;
  if (usage === undefined) return {};
  // A provider may leave one of them out.
  return { tokens: { input: usage.input_tokens ?? 0, output: usage.output_tokens ?? 0 } };
}

/** A name may hold anything; a class of errors is a word. */
function classOf(error: unknown): string {
  const name = error instanceof Error ? error.name : '';
  return /^[A-Za-z]\w{0,60}$/.test(name) ? name : 'Error';
}
