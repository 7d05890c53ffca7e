/** The context pipeline of an agent (M1, M5): which context a state needs, and the node that summarises. */
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import type { BaseMessage, UsageMetadata } from '@langchain/core/messages';
import type { RunnableConfig } from '@langchain/core/runnables';
import type { Summarise } from '../memory/context/compact.js';
import { createContext, type Context, type ContextOptions } from '../memory/context/context.js';
import { extractiveSummary } from '../memory/context/extractive-summary.js';
import { ContextTooSmallError } from '../memory/context/fit.js';
import { summariseWith } from '../memory/context/model-summary.js';
import type { ContextState } from '../memory/context/plan.js';
import {
  byteBound,
  encodingFor,
  loadTokenizer,
  messageTokens,
  replyPrimer,
  type Tokenizer,
} from '../memory/context/tokens.js';

type State = ContextState<BaseMessage>;

export interface AgentContext {
  /**
   * The context that decides about this state. A thread that fits when every byte counts as a token needs no tokenizer, which
   * costs 0.2 s and 70 MB: it is loaded for the first one that does not. The state alone decides, so a retry gets the same.
   */
  readonly contextOf: (state: State) => Promise<Context>;
  /** The model's own encoding. */
  readonly tokenizer: () => Promise<Tokenizer>;
}

/** @param modelName tells the encoding; models whose tokenizer is not public are counted by the newest one */
export function createAgentContext(
  options: Omit<ContextOptions, 'tokenizer'>,
  modelName: string,
): AgentContext {
  const rough = roughContext(options);
  let loading: Promise<Tokenizer> | undefined;
  let exact: Promise<Context> | undefined;
  const tokenizer = () => (loading ??= loadTokenizer({ encoding: encodingFor(modelName) }));
  return {
    tokenizer,
    async contextOf(state) {
      if (rough?.plan(state).kind === 'fits') return rough;
      return (exact ??= tokenizer().then((t) => createContext({ ...options, tokenizer: t })));
    },
  };
}

/** A small budget has no room for a system prompt whose every byte is a token: then each thread is counted. */
function roughContext(options: Omit<ContextOptions, 'tokenizer'>): Context | undefined {
  try {
    return createContext({ ...options, tokenizer: byteBound() });
  } catch (error) {
    if (error instanceof ContextTooSmallError) return undefined;
    throw error;
  }
}

/** What a request and its reply took, by our own count: for a provider that does not say, or a cap would hold nothing. */
export function countedUsage(
  tokenizer: Tokenizer,
  prompt: readonly BaseMessage[],
  reply: BaseMessage,
): UsageMetadata {
  const input_tokens = prompt.reduce((sum, m) => sum + messageTokens(tokenizer, m), replyPrimer);
  const output_tokens = messageTokens(tokenizer, reply);
  return { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens };
}

/** Its words are not the reply: LangGraph streams the tokens of every model but those with this tag. */
const unseen = ['langsmith:nostream'];

/** Summarises with the model; the built-in one cannot, so a rule does. */
export async function summariserOf(
  model: BaseChatModel,
  { tokenizer }: AgentContext,
  config: RunnableConfig,
): Promise<Summarise> {
  if (model._llmType() === 'everthread-builtin') return extractiveSummary(await tokenizer());
  return summariseWith({
    invoke: (messages, options) => model.invoke(messages, { ...config, ...options, tags: unseen }),
  });
}
