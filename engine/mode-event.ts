/** What a stream mode gives, as those who know LangGraph's servers expect it on the wire. Pure. */
import type { StreamMode } from '../contracts/stream-modes.js';
import { cleanText, toJson, type Json } from './plain-json.js';
import { isMessageObject, type MessageLike } from './transcript.js';

export interface ModeEvent {
  /** `updates`, or `updates|child:<id>` from a subgraph. */
  readonly event: string;
  readonly data: Json;
}

export const modeEvent = (
  mode: StreamMode,
  namespace: readonly string[],
  payload: unknown,
): ModeEvent => ({
  event: cleanText([mode, ...namespace].join('|')).replaceAll(/[\r\n]/g, ' '),
  data: toJson(payload, (value) => (isMessageObject(value) ? messageOf(value) : undefined)),
});

/** A LangChain message as its own fields, `type` first among them, without the envelope of its serialisation. */
function messageOf(message: MessageLike): Json {
  const type = message.getType?.() ?? message._getType?.() ?? 'ai';
  const isChunk = message.constructor.name.endsWith('MessageChunk');
  const fields = message as unknown as Record<string, unknown>;
  const shown = fieldNames.map((name) => [name, fields[name]] as const);
  return toJson({
    ...Object.fromEntries(shown.filter(([, value]) => value !== undefined)),
    type: isChunk && type === 'ai' ? 'AIMessageChunk' : type,
  });
}

const fieldNames = [
  'id',
  'content',
  'name',
  'tool_calls',
  'tool_call_chunks',
  'invalid_tool_calls',
  'tool_call_id',
  'status',
  'artifact',
  'usage_metadata',
  'additional_kwargs',
  'response_metadata',
] as const;
