import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { ToolMessage, type AIMessage, type UsageMetadata } from '@langchain/core/messages';
import type { RunnableConfig } from '@langchain/core/runnables';
import type { StructuredToolInterface } from '@langchain/core/tools';
import { END, Send, START, StateGraph } from '@langchain/langgraph';
import { callModel, type CallableModel } from '../llm/call-model.js';
import { guardStop, usageOf } from '../memory/guards/guard.js';
import type { MemoryStore } from '../memory/store.js';
import {
  countedUsage,
  createAgentContext,
  summariserOf,
  type AgentContext,
} from './agent-context.js';
import { defaultAgentSettings, hasCap, limitsOf, type AgentSettings } from './agent-settings.js';
import {
  AssistantInput,
  AssistantOutput,
  AssistantState,
  type State,
  type Update,
} from './assistant-state.js';
import type { DocsPassage } from './docs-index.js';
import { createCalculator } from './tools/calculator.js';
import { createClock } from './tools/clock.js';
import { createDocsSearch } from './tools/search-docs.js';
import { memoryNodes, type MemoryNodes } from './user-memory.js';

export interface AssistantDeps {
  readonly model: BaseChatModel;
  /** Summarises; the model itself unless given. */
  readonly cheapModel?: BaseChatModel;
  /** Name of the model, which tells how its tokens are counted. */
  readonly modelName?: string;
  /** Lexical search over the documents that it may quote; see `openDocs`. */
  readonly docs: (query: string, limit: number) => readonly DocsPassage[];
  /** Long-term memory of users; without it, and in turns that name no user, nothing is recalled or kept. */
  readonly memory?: MemoryStore;
  readonly settings?: AgentSettings;
  readonly now?: () => Date;
}

const instructions =
  'You are the assistant that ships with Everthread, a server for durable agent threads. Answer briefly and plainly. Use the tools for the time, for arithmetic and for questions about Everthread; do not guess what they can tell. What stands under "From long-term memory" is what this user has said before.';

/**
 * The shipped graph: the model, and its tools until it needs none, within a token budget and the guards' limits. A turn without
 * tools and without a user is one superstep.
 */
export function createAssistant(deps: AssistantDeps) {
  const memory = memoryNodes(deps.memory, deps.now);
  const parts = partsOf(deps, memory);
  const whenAnswered = (config: RunnableConfig) => (memory.isFor(config) ? 'remember' : END);
  return new StateGraph({ state: AssistantState, input: AssistantInput, output: AssistantOutput })
    .addNode('recall', memory.recall)
    .addNode('model', modelNode(parts))
    .addNode('compact', compactNode(parts))
    .addNode('tool', async (call: ToolCall, config) => ({
      messages: [await runTool(parts.tools, call, config)],
    }))
    .addNode('remember', memory.remember)
    .addConditionalEdges(START, (_, config) => (memory.isFor(config) ? 'recall' : 'model'), [
      'recall',
      'model',
    ])
    .addEdge('recall', 'model')
    .addConditionalEdges('model', (state, config) => afterModel(state, whenAnswered(config)), [
      ...(['compact', 'tool', 'remember'] as const),
      END,
    ])
    .addEdge('compact', 'model')
    .addEdge('tool', 'model')
    .addEdge('remember', END)
    .compile({ name: 'assistant' })
    .withConfig({ recursionLimit: superstepsFor(parts.settings.maxSteps) });
}

interface Parts {
  readonly model: CallableModel;
  readonly cheapModel: BaseChatModel;
  readonly tools: ReadonlyMap<string, StructuredToolInterface>;
  readonly context: AgentContext;
  readonly settings: AgentSettings;
  readonly memory: MemoryNodes;
}

function partsOf(deps: AssistantDeps, memory: MemoryNodes): Parts {
  const { model, cheapModel = model, docs, settings = defaultAgentSettings, modelName = '' } = deps;
  const tools = [createClock(deps.now), createCalculator(), createDocsSearch(docs)];
  if (model.bindTools === undefined) throw new Error('The assistant needs a model with tools.');
  const budgetTokens = settings.contextBudgetTokens;
  return {
    ...{ model: model.bindTools(tools), cheapModel, settings },
    tools: new Map<string, StructuredToolInterface>(tools.map((t) => [t.name, t])),
    context: createAgentContext({ budgetTokens, system: instructions, tools }, modelName),
    memory,
  };
}

const modelNode =
  ({ model, context, settings, memory }: Parts) =>
  async (state: State, config: RunnableConfig): Promise<Update> => {
    const { messages, compaction, max_steps: maxSteps } = state;
    const stop = guardStop(messages, limitsOf(settings, maxSteps));
    if (stop !== undefined) throw stop;
    const chosen = await context.contextOf(state);
    if (chosen.plan(state).kind === 'summarise' && compaction.at !== messages.length)
      return { compaction: { at: messages.length, outcome: 'due' } };
    const prompt = chosen.assemble(state, { recalled: await memory.words(state, config) });
    const reply = await callModel(model, prompt.messages, config);
    const counted: { usage_metadata?: UsageMetadata | undefined } = reply;
    if (hasCap(settings))
      counted.usage_metadata ??= countedUsage(await context.tokenizer(), prompt.messages, reply);
    return {
      messages: [reply],
      current_step: usageOf(messages).steps + 1,
      is_completed: (reply.tool_calls ?? []).length === 0,
      memory_updated: false,
    };
  };

/** A superstep of its own, so that a crash in the model call does not make the summary again. */
const compactNode =
  ({ cheapModel, context }: Parts) =>
  async (state: State, config: RunnableConfig): Promise<Update> => {
    const chosen = await context.contextOf(state);
    const summarise = await summariserOf(cheapModel, context, config);
    const done = await chosen.compact(state, summarise, config.signal);
    const at = state.messages.length;
    switch (done?.kind) {
      case 'summarised':
        return { summary: done.summary, compaction: { at, outcome: done.kind } };
      case 'failed':
        return { compaction: { at, outcome: done.why } };
      case undefined:
        return { compaction: { at, outcome: 'nothing' } };
    }
  };

/** Each step may first be told to summarise, do so, call the model and run its tools; recalling and remembering come once. */
const superstepsFor = (steps: number): number => 4 * steps + 4;

type ToolCall = NonNullable<AIMessage['tool_calls']>[number];

/** Each call is a task of its own, so that a finished one is not run again after a crash. */
function afterModel<End>({ messages, compaction }: State, end: End): 'compact' | Send[] | End {
  if (compaction.outcome === 'due' && compaction.at === messages.length) return 'compact';
  const calls = (messages.at(-1) as AIMessage | undefined)?.tool_calls ?? [];
  return calls.length === 0 ? end : calls.map((call) => new Send('tool', call));
}

/** A tool that fails tells the model why: it can correct itself, a failed turn cannot. */
async function runTool(
  tools: ReadonlyMap<string, StructuredToolInterface>,
  call: ToolCall,
  config: RunnableConfig,
): Promise<ToolMessage> {
  const answer = (content: string, status: 'success' | 'error') =>
    new ToolMessage({ content, status, name: call.name, tool_call_id: call.id ?? '' });
  const tool = tools.get(call.name);
  if (tool === undefined)
    return answer(
      `There is no tool "${call.name}"; there are ${[...tools.keys()].join(', ')}.`,
      'error',
    );
  try {
    return answer(String(await tool.invoke(call.args, config)), 'success');
  } catch (error) {
    config.signal?.throwIfAborted();
    return answer(`Error: ${error instanceof Error ? error.message : 'the tool failed'}`, 'error');
  }
}
