/** A chat model that answers every question with the lines of a scanner, one token each. */
import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, AIMessageChunk, type BaseMessage } from '@langchain/core/messages';
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs';

export class ScannerModel extends BaseChatModel {
  readonly #scans: () => Iterable<string> | AsyncIterable<string>;

  constructor(scans: () => Iterable<string> | AsyncIterable<string>) {
    super({});
    this.#scans = scans;
  }

  _llmType(): string {
    return 'scanner';
  }

  override async *_streamResponseChunks(
    _messages: BaseMessage[],
    _options: this['ParsedCallOptions'],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    for await (const text of this.#scans()) {
      const chunk = new ChatGenerationChunk({ text, message: new AIMessageChunk(text) });
      await runManager?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, {
        chunk,
      });
      yield chunk;
    }
  }

  async _generate(): Promise<ChatResult> {
    let text = '';
    for await (const scanned of this.#scans()) text += scanned;
    return { generations: [{ text, message: new AIMessage(text) }] };
  }
}
