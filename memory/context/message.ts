/**
 * Messages by their shape. A graph may bring its own copy of LangChain, so no class is asked for by name, and a message that
 * must change for the prompt is copied with its own prototype: the state keeps the original.
 */

/** What the pipeline reads of a message, whichever copy of LangChain made it. */
export interface MessageLike {
  readonly id?: string | null | undefined;
  readonly content?: unknown;
  readonly role?: unknown;
  readonly type?: unknown;
  readonly name?: unknown;
  readonly tool_calls?: unknown;
  readonly tool_call_id?: unknown;
  readonly usage_metadata?: unknown;
  readonly additional_kwargs?: unknown;
  readonly lc_kwargs?: unknown;
  readonly getType?: () => string;
  readonly _getType?: () => string;
}

/** Who speaks. */
export type Speaker = 'system' | 'user' | 'assistant' | 'tool';

/** One tool call of an assistant's message. */
export interface CallLike {
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
}

/** Every word that a message says for its speaker, in any copy of LangChain and on the wire. */
const speakers: ReadonlyMap<string, Speaker> = new Map(
  Object.entries<Speaker>({
    human: 'user',
    user: 'user',
    ai: 'assistant',
    assistant: 'assistant',
    tool: 'tool',
    function: 'tool',
    system: 'system',
    developer: 'system',
  }),
);

function kindOf(message: MessageLike): string {
  const own = message.getType?.() ?? message._getType?.();
  if (own !== undefined && own !== 'generic') return own;
  if (typeof message.role === 'string') return message.role;
  return typeof message.type === 'string' ? message.type : '';
}

/** A role that nobody knows speaks for the graph. */
export const speakerOf = (message: MessageLike): Speaker =>
  speakers.get(kindOf(message)) ?? 'assistant';

/** An object with content that names a speaker whom we know. */
export const namesSpeaker = (
  value: unknown,
): value is MessageLike & { readonly content: unknown } =>
  typeof value === 'object' && value !== null && 'content' in value && speakers.has(kindOf(value));

/** Whether a value can be read as a message at all. */
export const isMessageLike = (value: unknown): value is MessageLike =>
  namesSpeaker(value) && (typeof value.content === 'string' || Array.isArray(value.content));

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const textOfPart = (part: unknown): string | undefined => {
  if (typeof part === 'string') return part;
  return isRecord(part) && (part.type === 'text' || part.type === undefined)
    ? typeof part.text === 'string'
      ? part.text
      : undefined
    : undefined;
};

/** The text of a message: its string content, or its text parts joined. */
export function textOf({ content }: MessageLike): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: unknown) => textOfPart(part) ?? '').join('');
}

/** What a message carries beside text: images, files, a provider's own blocks. */
export function partsOf({ content }: MessageLike): readonly Readonly<Record<string, unknown>>[] {
  if (!Array.isArray(content)) return [];
  return content.filter((part) => isRecord(part) && textOfPart(part) === undefined) as Record<
    string,
    unknown
  >[];
}

/** The tool calls of a message; a call without an id cannot be answered and does not count. */
export function callsOf({ tool_calls }: MessageLike): readonly CallLike[] {
  if (!Array.isArray(tool_calls)) return [];
  return tool_calls.flatMap((call: unknown) =>
    isRecord(call) && typeof call.id === 'string' && typeof call.name === 'string'
      ? [{ id: call.id, name: call.name, args: call.args ?? {} }]
      : [],
  );
}

/** The call that a tool's message answers. */
export const answeredCallOf = ({ tool_call_id }: MessageLike): string =>
  typeof tool_call_id === 'string' ? tool_call_id : '';

/** A copy with other text; parts that are not text are gone with it. */
export const withText = <M extends MessageLike>(message: M, text: string): M =>
  changed(message, { content: text });

/** A copy that has only these tool calls, also where providers keep them a second time. */
export function withCalls<M extends MessageLike>(message: M, calls: readonly CallLike[]): M {
  const extra = isRecord(message.additional_kwargs) ? { ...message.additional_kwargs } : {};
  delete extra.tool_calls;
  delete extra.function_call;
  return changed(message, {
    content: textOf(message),
    tool_calls: calls.map((call) => ({ ...call, type: 'tool_call' })),
    additional_kwargs: extra,
  });
}

function changed<M extends MessageLike>(message: M, change: Readonly<Record<string, unknown>>): M {
  const copy = Object.create(
    Object.getPrototypeOf(message) as object,
    Object.getOwnPropertyDescriptors(message),
  ) as Record<string, unknown>;
  for (const [name, value] of Object.entries(change)) define(copy, name, value);
  // What a message serialises is lc_kwargs.
  if (isRecord(message.lc_kwargs)) define(copy, 'lc_kwargs', { ...message.lc_kwargs, ...change });
  return copy as unknown as M;
}

const define = (target: object, name: string, value: unknown): void => {
  Object.defineProperty(target, name, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  });
};
