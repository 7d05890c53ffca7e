import type { AIMessage, AIMessageChunk, BaseMessage } from '@langchain/core/messages';
import type { RunnableConfig } from '@langchain/core/runnables';
import { reachCrashPoint } from '../contracts/crash-point.js';

/** A chat model, with tools bound to it or not. */
export interface CallableModel {
  invoke(messages: BaseMessage[], config: RunnableConfig): Promise<AIMessage | AIMessageChunk>;
}

/** A reply that must not become part of the thread; `code` is what `classifyProviderError` looks at. */
export class UnusableReplyError extends Error {
  override readonly name = 'UnusableReplyError';
  readonly code: 'model_garbage' | 'model_unavailable' | 'content_filtered';

  constructor(code: UnusableReplyError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Calls the model once and returns a whole reply.
 * @throws UnusableReplyError when nothing in the answer can be used
 */
export async function callModel(
  model: CallableModel,
  messages: BaseMessage[],
  config: RunnableConfig,
): Promise<AIMessage | AIMessageChunk> {
  const reply = await invoke(model, messages, config);
  const { finish_reason: finish } = reply.response_metadata as { finish_reason?: unknown };
  if (finish === 'content_filter')
    throw new UnusableReplyError('content_filtered', 'The content filter stopped the reply.');
  if (reply.content.length === 0 && (reply.tool_calls ?? []).length === 0)
    throw new UnusableReplyError('model_garbage', 'The model gave an empty reply.');
  return reply;
}

async function invoke(
  model: CallableModel,
  messages: BaseMessage[],
  config: RunnableConfig,
): Promise<AIMessage | AIMessageChunk> {
  try {
    reachCrashPoint('before-model', threadOf(config));
    const reply = await model.invoke(messages, config);
    reachCrashPoint('after-model', threadOf(config));
    return reply;
  } catch (error) {
    // The client trips over an answer that is not the protocol. Network errors are TypeErrors too, but carry a cause.
    const { name, cause } = error as Partial<Error>;
    if (name === 'TypeError' && cause === undefined)
      throw new UnusableReplyError('model_garbage', "The answer is not the provider's protocol.");
    throw error;
  }
}

/** LangGraph hands the thread on to whatever a node calls. */
const threadOf = ({ configurable }: RunnableConfig): string | undefined =>
  configurable?.thread_id as string | undefined;
