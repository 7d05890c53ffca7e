/** A graph shape of the engine's suite, and what its nodes are made of. */
import { setImmediate } from 'node:timers/promises';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, AIMessageChunk, type BaseMessage } from '@langchain/core/messages';
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs';
import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import { Annotation, MessagesAnnotation, type BaseCheckpointSaver } from '@langchain/langgraph';
import type { TurnInterrupt } from '../../contracts/http.schema.js';
import type { PregelGraph } from '../../engine/project/types.js';
import type { Start } from '../../engine/port.js';

/** A node waits for something outside the process, as real ones do: what finished before it is flushed meanwhile. */
async function elsewhere(): Promise<void> {
  await setImmediate();
  await setImmediate();
}

/** Bodies of nodes, tasks and tools that ran to their end, in order. */
export class Log {
  readonly ran: string[] = [];
  /** The process is gone: what its nodes still do does not happen. */
  dead = false;

  /** A node body: its name goes into the log when it has finished. */
  node<S, R>(name: string, body: (state: S) => R | Promise<R>): (state: S) => Promise<R> {
    return async (state) => {
      await elsewhere();
      const result = await body(state);
      this.add(name);
      return result;
    };
  }

  add(name: string): void {
    if (!this.dead) this.ran.push(name);
  }
}

export interface Saving {
  readonly checkpointer?: BaseCheckpointSaver;
}

export interface Shape {
  readonly name: string;
  /** A freshly loaded graph; `saver` only for the plain run that it is compared with. */
  readonly build: (log: Log, saving: Saving) => PregelGraph;
  /** A turn may answer what the one before has asked. */
  readonly turns: readonly (Start | ((asked: readonly TurnInterrupt[]) => Start))[];
  /** Tasks that one lost flush may hold: the widest superstep, with what its nodes call. */
  readonly width?: number;
  /** The same for a resume, whose first superstep is not flushed before it ends (P5): all that runs inside it. */
  readonly resumeWidth?: number;
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
    await elsewhere();
    const answer = this.#answer(messages);
    this.#log?.add('model');
    return { generations: [{ text: answer.text, message: answer }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    _options: this['ParsedCallOptions'],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    await elsewhere();
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
    this.#log?.add('model');
  }
}

const list = () => Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] });
/** The state of most shapes: a conversation, and a list that shows what ran. */
export const Trace = Annotation.Root({ ...MessagesAnnotation.spec, trace: list() });
export type TraceState = typeof Trace.State;

export const say = (text: string): AIMessage => new AIMessage(text);
export const lastText = (messages: readonly BaseMessage[]): string => messages.at(-1)?.text ?? '';
