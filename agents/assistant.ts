import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { SystemMessage, ToolMessage, type AIMessage } from '@langchain/core/messages';
import type { RunnableConfig } from '@langchain/core/runnables';
import type { StructuredToolInterface } from '@langchain/core/tools';
import { END, MessagesAnnotation, Send, START, StateGraph } from '@langchain/langgraph';
import { callModel } from '../llm/call-model.js';
import type { DocsPassage } from './docs-index.js';
import { createCalculator } from './tools/calculator.js';
import { createClock } from './tools/clock.js';
import { createDocsSearch } from './tools/search-docs.js';

export interface AssistantDeps {
  readonly model: BaseChatModel;
  /** Lexical search over the documents that it may quote; see `openDocs`. */
  readonly docs: (query: string, limit: number) => readonly DocsPassage[];
  readonly now?: () => Date;
}

const instructions = new SystemMessage(
  'You are the assistant that ships with Everthread, a server for durable agent threads. Answer briefly and plainly. Use the tools for the time, for arithmetic and for questions about Everthread; do not guess what they can tell.',
);

/** Ten rounds of tools and the answer; a model that wants more is going in circles. */
const recursionLimit = 21;

/** The shipped graph: the model, and its tools until it needs none. A turn without tools is one superstep. */
export function createAssistant({ model, docs, now }: AssistantDeps) {
  const tools = [createClock(now), createCalculator(), createDocsSearch(docs)];
  if (model.bindTools === undefined) throw new Error('The assistant needs a model with tools.');
  const bound = model.bindTools(tools);
  const byName = new Map<string, StructuredToolInterface>(tools.map((t) => [t.name, t]));

  return new StateGraph(MessagesAnnotation)
    .addNode('model', async ({ messages }, config) => ({
      messages: [await callModel(bound, [instructions, ...messages], config)],
    }))
    .addNode('tool', async (call: ToolCall, config) => ({
      messages: [await runTool(byName, call, config)],
    }))
    .addEdge(START, 'model')
    .addConditionalEdges('model', toolsOrEnd, ['tool', END])
    .addEdge('tool', 'model')
    .compile({ name: 'assistant' })
    .withConfig({ recursionLimit });
}

type ToolCall = NonNullable<AIMessage['tool_calls']>[number];

/** Each call is a task of its own, so that a finished one is not run again after a crash. */
function toolsOrEnd({ messages }: typeof MessagesAnnotation.State): Send[] | typeof END {
  const calls = (messages.at(-1) as AIMessage | undefined)?.tool_calls ?? [];
  return calls.length === 0 ? END : calls.map((call) => new Send('tool', call));
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
