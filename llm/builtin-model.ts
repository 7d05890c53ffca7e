import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import {
  BaseChatModel,
  type BaseChatModelCallOptions,
  type BindToolsInput,
} from '@langchain/core/language_models/chat_models';
import { AIMessage, AIMessageChunk, type BaseMessage } from '@langchain/core/messages';
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs';
import {
  replyTo,
  type BuiltinReply,
  type Conversation,
  type DocsSearch,
} from './builtin-replies.js';

export interface BuiltinCallOptions extends BaseChatModelCallOptions {
  /** Names of the tools that may be called. */
  tools?: readonly string[];
}

/**
 * The honest model for a first minute without a key. It answers by rules, always the same way, streams word by word, and
 * says at the start of a thread that it is no LLM.
 */
export class BuiltinChatModel extends BaseChatModel<BuiltinCallOptions> {
  readonly #docs: DocsSearch;

  constructor(fields: { readonly docs: DocsSearch }) {
    super({});
    this.#docs = fields.docs;
  }

  override _llmType(): string {
    return 'everthread-builtin';
  }

  override bindTools(tools: BindToolsInput[]) {
    return this.withConfig({ tools: tools.map(toolName) });
  }

  // The base class awaits both; nothing here has anything to wait for.
  override _generate(messages: BaseMessage[], options: BuiltinCallOptions): Promise<ChatResult> {
    const reply = this.#reply(messages, options);
    const message =
      reply.kind === 'text'
        ? new AIMessage(reply.text)
        : new AIMessage({ content: '', tool_calls: [callOf(reply, messages)] });
    return Promise.resolve({ generations: [{ text: message.text, message }] });
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: BuiltinCallOptions,
    run?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const reply = this.#reply(messages, options);
    if (reply.kind === 'tool') {
      const { name, args, id } = callOf(reply, messages);
      const part = {
        name,
        args: JSON.stringify(args),
        id,
        index: 0,
        type: 'tool_call_chunk',
      } as const;
      const message = new AIMessageChunk({ content: '', tool_call_chunks: [part] });
      yield new ChatGenerationChunk({ text: '', message });
      return;
    }
    for (const word of reply.text.match(/\s*\S+/g) ?? []) {
      options.signal?.throwIfAborted();
      const message = new AIMessageChunk({ content: word });
      const chunk = new ChatGenerationChunk({ text: word, message });
      yield chunk;
      await run?.handleLLMNewToken(word, undefined, undefined, undefined, undefined, { chunk });
    }
  }

  #reply(messages: BaseMessage[], options: BuiltinCallOptions): BuiltinReply {
    return replyTo(conversationOf(messages, options.tools ?? []), this.#docs);
  }
}

/** The id is made from the place in the thread, so that the same thread gives the same call. */
const callOf = (reply: Extract<BuiltinReply, { kind: 'tool' }>, messages: BaseMessage[]) => ({
  name: reply.name,
  args: reply.args,
  id: `call_builtin_${messages.length}`,
  type: 'tool_call' as const,
});

function toolName(tool: BindToolsInput): string {
  const { name, function: made } = tool as { name?: string; function?: { name?: string } };
  return name ?? made?.name ?? '';
}

/** What an agent's context adds says so of itself (`memory/context/context.ts`): nobody said it. */
const partOf = ({ id }: BaseMessage): string | undefined => /^context:(\w+)$/.exec(id ?? '')?.[1];
const recalledIn = (messages: readonly BaseMessage[]): string =>
  messages.find((m) => partOf(m) === 'recalled')?.text ?? '';

const linesAfter = (head: RegExp, text: string): string[] =>
  text.split('\n').flatMap((line) => (head.test(line) ? [line.replace(head, '')] : []));

function unquoted(json: string): string {
  try {
    return String(JSON.parse(json));
  } catch {
    return ''; // cut off in the middle
  }
}

function conversationOf(messages: BaseMessage[], tools: readonly string[]): Conversation {
  const lastUser = messages.findLastIndex((m) => m.type === 'human');
  const names = new Map(
    messages
      .flatMap((m) => (m as Partial<AIMessage>).tool_calls ?? [])
      .map((call) => [call.id, call.name]),
  );
  const summary = messages.find((m) => partOf(m) === 'summary')?.text ?? '';
  return {
    users: messages.filter((m) => m.type === 'human' && partOf(m) === undefined).map((m) => m.text),
    older: linesAfter(/^user: /, summary),
    known: linesAfter(
      /^The user (?:says about himself|claims, not verified): /,
      recalledIn(messages),
    )
      .map(unquoted)
      .filter((text) => text !== ''),
    first: summary === '' && !messages.slice(0, lastUser).some((m) => m.type === 'ai'),
    toolResults: messages
      .slice(lastUser + 1)
      .filter((m) => m.type === 'tool')
      .map((m) => ({
        name: names.get((m as unknown as { tool_call_id: string }).tool_call_id) ?? '',
        text: m.text,
      })),
    tools,
  };
}
