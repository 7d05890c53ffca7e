/** A graph shape of the engine's suite, and what its nodes are made of. */
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { type AIMessage, AIMessageChunk, type BaseMessage } from '@langchain/core/messages';
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs';
import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import type { BaseCheckpointSaver } from '@langchain/langgraph';
import type { PregelGraph } from '../../engine/project/types.js';
import type { Start } from '../../engine/port.js';

/** Bodies of nodes, tasks and tools that ran to their end, in order. */
export class Log {
  readonly ran: string[] = [];

  /** A node body: its name goes into the log when it has finished. */
  node<S, R>(name: string, body: (state: S) => R | Promise<R>): (state: S) => Promise<R> {
    return async (state) => {
      const result = await body(state);
      this.ran.push(name);
      return result;
    };
  }
}

export interface Saving {
  readonly checkpointer?: BaseCheckpointSaver;
}

export interface Shape {
  readonly name: string;
  /** A freshly loaded graph; `saver` only for the plain run that it is compared with. */
  readonly build: (log: Log, saving: Saving) => PregelGraph;
  readonly turns: readonly Start[];
  /** Tasks that one lost flush may hold: the widest superstep, with what its nodes call. */
  readonly width?: number;
  readonly recursionLimit?: number;
}

export const message = (text: string): Start => ({ kind: 'message', text });
export const input = (value: unknown): Start => ({ kind: 'input', value });
export const resume = (value: unknown): Start => ({ kind: 'resume', value });

/** LangGraph's graph types are generic beyond need here. */
export const asGraph = (graph: unknown): PregelGraph => graph as PregelGraph;

/** A model whose answer follows from the messages alone; streams word by word. */
export class FollowModel extends BaseChatModel {
  readonly #answer: (messages: BaseMessage[]) => AIMessage;
  readonly #log: Log | undefined;

  constructor(answer: (messages: BaseMessage[]) => AIMessage, log?: Log) {
    super({});
    this.#answer = answer;
    this.#log = log;
  }

  override _llmType(): string {
    return 'follow';
  }

  override bindTools(): this {
    return this;
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const answer = this.#answer(messages);
    this.#log?.ran.push('model');
    return { generations: [{ text: answer.text, message: answer }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    _options: this['ParsedCallOptions'],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const answer = this.#answer(messages);
    const words = answer.text === '' ? [''] : answer.text.split(/(?<= )/);
    for (const [i, word] of words.entries()) {
      const last = i === words.length - 1;
      const chunk = new AIMessageChunk({
        content: word,
        tool_call_chunks: last
          ? (answer.tool_calls ?? []).map((c, index) => ({
              id: c.id ?? '',
              name: c.name,
              args: JSON.stringify(c.args),
              index,
            }))
          : [],
      });
      yield new ChatGenerationChunk({ text: word, message: chunk });
      await runManager?.handleLLMNewToken(word, undefined, undefined, undefined, undefined, {
        chunk: new ChatGenerationChunk({ text: word, message: chunk }),
      });
    }
    this.#log?.ran.push('model');
  }
}
