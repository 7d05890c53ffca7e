/**
 * Messages of any LangChain copy, and plain message objects, as the wire shows them (DESIGN 15.5). Pure: classes are
 * recognised by shape, since a project's classes are not ours.
 */
import type { TranscriptMessage, Usage } from '../contracts/http.schema.js';
import { namesSpeaker, speakerOf } from '../memory/context/message.js';
import { cleanText, toJson, type Json } from './plain-json.js';

/** What we read of a message, whichever copy made it. */
export interface MessageLike {
  id?: string | null;
  readonly content?: unknown;
  readonly role?: unknown;
  readonly type?: unknown;
  readonly name?: unknown;
  readonly tool_calls?: unknown;
  readonly tool_call_id?: unknown;
  readonly status?: unknown;
  readonly usage_metadata?: unknown;
  readonly lc_kwargs?: Record<string, unknown>;
  readonly getType?: () => string;
  readonly _getType?: () => string;
}

/** An object of a LangChain message class. */
export const isMessageObject = (value: unknown): value is MessageLike =>
  typeof value === 'object' &&
  value !== null &&
  (('getType' in value && typeof value.getType === 'function') ||
    ('_getType' in value && typeof value._getType === 'function'));

/** A message, or a plain object that reads as one (`{role, content}`, `{type, content}`). */
export const isMessageLike = (value: unknown): value is MessageLike =>
  isMessageObject(value) || namesSpeaker(value);

/** A role that nobody knows speaks for the graph. */
export const roleOf: (message: MessageLike) => TranscriptMessage['role'] = speakerOf;

const isTextPart = (part: unknown): part is { readonly text: string } =>
  typeof part === 'object' &&
  part !== null &&
  (!('type' in part) || part.type === 'text' || part.type === 'text_delta') &&
  'text' in part &&
  typeof part.text === 'string';

/** The text of a message: its string content, or its text parts joined. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return cleanText(content);
  if (!Array.isArray(content)) return '';
  return content
    .map((p: unknown) => (typeof p === 'string' ? p : isTextPart(p) ? p.text : ''))
    .map(cleanText)
    .join('');
}

function partsOf(content: unknown): Json[] {
  if (!Array.isArray(content)) return [];
  return content
    .filter((p: unknown) => typeof p !== 'string' && !isTextPart(p))
    .map((p: unknown) => toJson(p));
}

/** One message as the wire shows it; `fallbackId` names it when it has no id. */
export function transcriptMessage(message: MessageLike, fallbackId: string): TranscriptMessage {
  const parts = partsOf(message.content);
  const calls = toolCallsOf(message);
  return {
    id: typeof message.id === 'string' && message.id !== '' ? cleanText(message.id) : fallbackId,
    role: roleOf(message),
    content: textOf(message.content),
    ...(parts.length > 0 && { parts }),
    ...(calls.length > 0 && { tool_calls: calls.map((call) => toJson(call)) }),
    ...(typeof message.tool_call_id === 'string' && { tool_call_id: message.tool_call_id }),
    ...(typeof message.name === 'string' && message.name !== '' && { name: message.name }),
    ...(message.status === 'error' && { status: 'error' }),
  };
}

export const toolCallsOf = (message: MessageLike): readonly unknown[] =>
  Array.isArray(message.tool_calls) ? message.tool_calls : [];

/** For messages in other channels: the same form. */
export const messageJson = (value: object): Json | undefined =>
  isMessageObject(value) ? toJson(transcriptMessage(value, '')) : undefined;

/** What the providers of these messages have counted; undefined when none has. */
export function usageOf(messages: readonly MessageLike[]): Usage | undefined {
  let sum: Usage | undefined;
  for (const { usage_metadata: usage } of messages) {
    if (typeof usage !== 'object' || usage === null) continue;
    const count = (name: string): number => {
      const n: unknown = (usage as Record<string, unknown>)[name];
      return typeof n === 'number' && Number.isFinite(n) ? Math.round(n) : 0;
    };
    const input_tokens = count('input_tokens') + (sum?.input_tokens ?? 0);
    const output_tokens = count('output_tokens') + (sum?.output_tokens ?? 0);
    const total_tokens =
      (count('total_tokens') || count('input_tokens') + count('output_tokens')) +
      (sum?.total_tokens ?? 0);
    sum = { input_tokens, output_tokens, total_tokens };
  }
  return sum;
}
