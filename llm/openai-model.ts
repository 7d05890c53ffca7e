import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import type { BaseMessage } from '@langchain/core/messages';
import type { ChatGenerationChunk } from '@langchain/core/outputs';
import { ChatOpenAI, ChatOpenAICompletions } from '@langchain/openai';
import { UnusableReplyError } from './call-model.js';

/** ChatOpenAI, except that half a reply is an error. @throws Error when it has no key */
export function createOpenAIModel(model: string): BaseChatModel {
  // The client would print what it cannot parse: a provider's text, which may quote a prompt, in our log.
  const fields = { model, maxRetries: 0, configuration: { logLevel: 'off' } as const };
  const completions = new WholeCompletions(fields);
  completions.requireKey();
  return new ChatOpenAI({ ...fields, completions });
}

/**
 * A proxy that closes a stream politely leaves half a reply and no error. The missing finish is the only trace, and only
 * here: the message that the client makes of the stream does not carry it.
 */
class WholeCompletions extends ChatOpenAICompletions {
  /** The client is made at the first call, and only that finds a missing key; a process should not start with one. */
  requireKey(): void {
    this._getClientOptions(undefined);
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this['ParsedCallOptions'],
    run?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    let finish: unknown;
    for await (const chunk of super._streamResponseChunks(messages, options, run)) {
      finish = chunk.generationInfo?.finish_reason ?? finish;
      yield chunk;
    }
    if (finish === 'content_filter')
      throw new UnusableReplyError('content_filtered', 'The content filter stopped the reply.');
    if (finish === undefined)
      throw new UnusableReplyError('model_unavailable', 'The stream ended before the reply did.');
  }
}
