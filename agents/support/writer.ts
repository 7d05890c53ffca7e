/** Who writes the answers: a real model within its token budget, or rules, which need neither a model nor a tokenizer. */
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, type BaseMessage } from '@langchain/core/messages';
import type { RunnableConfig } from '@langchain/core/runnables';
import { callModel } from '../../llm/call-model.js';
import type { Summarise } from '../../memory/context/compact.js';
import { createContext, type Context } from '../../memory/context/context.js';
import { extractiveSummary } from '../../memory/context/extractive-summary.js';
import { byteBound } from '../../memory/context/tokens.js';
import { createAgentContext, summariserOf } from '../agent-context.js';
import { defaultAgentSettings, type AgentSettings } from '../agent-settings.js';
import { instructions, quotingAnswer, withPassages, type AreaShown } from './answer.js';
import type { SupportState } from './state.js';

export interface WriterDeps {
  /** Writes the answers from passages; the built-in one is not asked, rules quote instead. */
  readonly model: BaseChatModel;
  /** Summarises; the model itself unless given. */
  readonly cheapModel?: BaseChatModel;
  /** Name of the model, which tells how its tokens are counted. */
  readonly modelName?: string;
  readonly settings?: AgentSettings;
}

export interface Writer {
  /** Passages that one answer is made from. */
  readonly mostPassages: number;
  /** Says when the thread is to be summarised. */
  contextOf(state: SupportState): Promise<Context>;
  summariser(config: RunnableConfig): Promise<Summarise>;
  /** The answer from the state's passages; `area` when one was asked for as a whole. */
  write(
    state: SupportState,
    area: AreaShown | undefined,
    config: RunnableConfig,
  ): Promise<BaseMessage>;
}

export const createWriter = (deps: WriterDeps): Writer =>
  deps.model._llmType() === 'everthread-builtin' ? writerByRules() : writerOn(deps);

/** Without a model no prompt is to be kept small: this only says when old messages are worth a summary, after about ten turns. */
const rulesBudgetTokens = 2_000;
/** Bytes of a token of English text. Nothing is cut by it but the summary. */
const aboutTokens = byteBound(1 / 4);

function writerByRules(): Writer {
  const context = createContext({
    budgetTokens: rulesBudgetTokens,
    tokenizer: aboutTokens,
    system: instructions,
  });
  return {
    mostPassages: 2, // they are the answer, and more would be a page to read
    contextOf: () => Promise.resolve(context),
    summariser: () => Promise.resolve(extractiveSummary(aboutTokens)),
    write: ({ passages, decision }, area) =>
      Promise.resolve(new AIMessage(quotingAnswer(passages, decision?.language ?? 'en', area))),
  };
}

/** Three sections of 1,200 characters and their names. */
const mostPassageTokens = 4_096;
/** Of a small budget, so that a conversation has room beside them. */
const passageShare = 0.3;

function writerOn({ model, cheapModel = model, modelName, settings }: WriterDeps): Writer {
  const { contextBudgetTokens: budgetTokens } = settings ?? defaultAgentSettings;
  const room = Math.min(mostPassageTokens, Math.floor(budgetTokens * passageShare));
  const options = { budgetTokens, replyTokens: room, system: instructions };
  const context = createAgentContext(options, modelName ?? '');
  return {
    mostPassages: 3,
    contextOf: (state) => context.contextOf(state),
    summariser: (config) => summariserOf(cheapModel, context, config),
    async write(state, _area, config) {
      const { messages } = (await context.contextOf(state)).assemble(state);
      // What fits when every byte counts as a token needs no tokenizer.
      const fits = Buffer.byteLength(JSON.stringify(state.passages)) < room;
      const tokenizer = fits ? byteBound() : await context.tokenizer();
      return callModel(model, withPassages(messages, state.passages, { room, tokenizer }), config);
    },
  };
}
