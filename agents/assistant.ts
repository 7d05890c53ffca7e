import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { ToolMessage, type AIMessage } from '@langchain/core/messages';
import type { RunnableConfig } from '@langchain/core/runnables';
import type { StructuredToolInterface } from '@langchain/core/tools';
import { Annotation, END, Send, START, StateGraph } from '@langchain/langgraph';
import { z } from 'zod';
import { callModel } from '../llm/call-model.js';
import { AgentState, newest } from '../memory/agent-state.js';
import { guardStop, usageOf } from '../memory/guards/guard.js';
import type { MemoryStore } from '../memory/store.js';
import { countedUsage, createAgentContext, summariserOf } from './agent-context.js';
import { defaultAgentSettings, hasCap, limitsOf, type AgentSettings } from './agent-settings.js';
import type { DocsPassage } from './docs-index.js';
import { createCalculator } from './tools/calculator.js';
import { createClock } from './tools/clock.js';
import { createDocsSearch } from './tools/search-docs.js';
import { createUserMemory, nothingRecalled, ownerOf, recollectionSchema } from './user-memory.js';

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

/** Where the thread stood when summarising was due, and what came of it: at one length of the transcript it is tried once. */
const compactionSchema = z.strictObject({
  at: z.int().min(0),
  outcome: z.enum(['due', 'nothing', 'summarised', 'threw', 'empty', 'refused', 'timeout']),
});

const stepsSchema = z.int().min(1).max(1_000).nullable();

const AssistantState = Annotation.Root({
  ...AgentState.spec,
  /** A lower limit than the configured one; null for none. */
  max_steps: newest<number | null>('max_steps', stepsSchema, null),
  compaction: newest('compaction', compactionSchema, { at: 0, outcome: 'nothing' }),
  recalled: newest('recalled', recollectionSchema, nothingRecalled),
  /** Whether this turn has written long-term memory. */
  memory_updated: newest<boolean>('memory_updated', z.boolean(), false),
});
type State = typeof AssistantState.State;

const { messages, max_steps, scratchpad } = AssistantState.spec;
/** What a caller may set. The rest is the agent's own. */
const AssistantInput = Annotation.Root({ messages, max_steps, scratchpad });
const AssistantOutput = Annotation.Root({
  messages,
  memory_updated: AssistantState.spec.memory_updated,
});

/**
 * The shipped graph: the model, and its tools until it needs none, within a token budget and the guards' limits. A turn without
 * tools and without a user is one superstep.
 */
export function createAssistant(deps: AssistantDeps) {
  const { model, cheapModel = model, docs, settings = defaultAgentSettings } = deps;
  const now = deps.now ?? (() => new Date());
  const tools = [createClock(now), createCalculator(), createDocsSearch(docs)];
  if (model.bindTools === undefined) throw new Error('The assistant needs a model with tools.');
  const bound = model.bindTools(tools);
  const byName = new Map<string, StructuredToolInterface>(tools.map((t) => [t.name, t]));
  const context = createAgentContext(
    { budgetTokens: settings.contextBudgetTokens, system: instructions, tools },
    deps.modelName ?? '',
  );
  const memory = deps.memory && createUserMemory(deps.memory, now);
  const userOf = (config: RunnableConfig) => (memory === undefined ? undefined : ownerOf(config));
  const wordsFor = async ({ recalled }: State, config: RunnableConfig): Promise<string> => {
    const owner = userOf(config);
    return owner === undefined ? '' : ((await memory?.wordsOf(owner, recalled)) ?? '');
  };

  return new StateGraph({ state: AssistantState, input: AssistantInput, output: AssistantOutput })
    .addNode('recall', async (state, config) => {
      const owner = userOf(config);
      return owner === undefined || memory === undefined
        ? {}
        : { user_id: owner.userId, recalled: await memory.recallFor(owner, state.messages) };
    })
    .addNode('model', async (state: State, config) => {
      const stop = guardStop(state.messages, limitsOf(settings, state.max_steps));
      if (stop !== undefined) throw stop;
      const chosen = await context.contextOf(state);
      const { length } = state.messages;
      if (chosen.plan(state).kind === 'summarise' && state.compaction.at !== length)
        return { compaction: { at: length, outcome: 'due' as const } };
      const prompt = chosen.assemble(state, { recalled: await wordsFor(state, config) });
      const reply = await callModel(bound, prompt.messages, config);
      if (hasCap(settings) && reply.usage_metadata === undefined) {
        const used = countedUsage(await context.tokenizer(), prompt.messages, reply);
        Object.assign(reply, { usage_metadata: used });
      }
      return {
        messages: [reply],
        current_step: usageOf(state.messages).steps + 1,
        is_completed: (reply.tool_calls ?? []).length === 0,
        memory_updated: false,
      };
    })
    .addNode('compact', async (state: State, config) => {
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
          return { compaction: { at, outcome: 'nothing' as const } };
      }
    })
    .addNode('tool', async (call: ToolCall, config) => ({
      messages: [await runTool(byName, call, config)],
    }))
    .addNode('remember', async (state: State, config) => {
      const owner = userOf(config);
      return owner === undefined || memory === undefined
        ? {}
        : { memory_updated: await memory.remember(owner, state.messages, config) };
    })
    .addConditionalEdges(START, (_, config) => (userOf(config) ? 'recall' : 'model'), [
      'recall',
      'model',
    ])
    .addEdge('recall', 'model')
    .addConditionalEdges(
      'model',
      (state: State, config) => afterModel(state, userOf(config) ? 'remember' : END),
      ['compact', 'tool', 'remember', END],
    )
    .addEdge('compact', 'model')
    .addEdge('tool', 'model')
    .addEdge('remember', END)
    .compile({ name: 'assistant' })
    .withConfig({ recursionLimit: superstepsFor(settings.maxSteps) });
}

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
