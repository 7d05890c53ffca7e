// What the scripted model may be told to do, and two ready ways to tell it.
import type { ChatRequest } from './chat-request.js';

interface ScriptedToolCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

export interface ScriptedReply {
  readonly kind: 'reply';
  readonly text: string;
  readonly toolCalls?: readonly ScriptedToolCall[];
  /** Before the first byte. */
  readonly delayMs?: number;
  /** Between two tokens of a stream. */
  readonly gapMs?: number;
  readonly finishReason?: string;
  /** Ends the stream after so many tokens: `reset` kills the socket, `close` ends the response without a finish. */
  readonly cut?: { readonly afterTokens: number; readonly how: 'reset' | 'close' };
}

interface ScriptedError {
  readonly kind: 'error';
  readonly status: number;
  readonly code?: string;
  readonly message?: string;
  /** The Retry-After header, as sent. */
  readonly retryAfter?: string;
  readonly delayMs?: number;
}

export type Script =
  | ScriptedReply
  | ScriptedError
  /** Takes the request and never answers. */
  | { readonly kind: 'hang' }
  /** Kills the socket before any answer. */
  | { readonly kind: 'drop' }
  /** 200 with something that is not the protocol. */
  | { readonly kind: 'garbage'; readonly body: string; readonly contentType?: string };

/** `nth`: how many requests, this one counted, had the same last user message. */
export type Answer = (request: ChatRequest, nth: number) => Script;

export const reply = (text: string, more: Partial<ScriptedReply> = {}): ScriptedReply => ({
  kind: 'reply',
  text,
  ...more,
});

/**
 * The last user message says what to do: `fail=429 times=1 after=1 code=…`, `delay=300`, `gap=60`, `say=a%20b`, `repeat=3`,
 * `cut=2` (socket killed after two tokens), `close=2`, `hang=1`, `drop=1`, `garbage=1`, `tool=clock:%7B%7D` (called once, then
 * the reply follows). `times` limits any of the faults. Anything else is answered with `seen <user messages>: <message>`.
 */
export const byOptions: Answer = (request, nth) => {
  const { last, users } = request;
  const option = (name: string): string | undefined =>
    new RegExp(`(?:^|\\s)${name}=(\\S+)`).exec(last)?.[1];
  const number = (name: string, otherwise = 0): number => Number(option(name) ?? otherwise);
  const faulty = nth <= number('times', Infinity);
  const delayMs = number('delay');
  const status = option('fail');
  if (faulty && status !== undefined) {
    const [code, retryAfter] = [option('code'), option('after')];
    return {
      kind: 'error',
      status: Number(status),
      delayMs,
      ...(code === undefined ? {} : { code }),
      ...(retryAfter === undefined ? {} : { retryAfter }),
    };
  }
  if (faulty && option('hang')) return { kind: 'hang' };
  if (faulty && option('drop')) return { kind: 'drop' };
  if (faulty && option('garbage')) return { kind: 'garbage', body: 'data: {"choices": [{]\n\n' };
  const tool = option('tool');
  if (tool !== undefined && request.messages.at(-1)?.role !== 'tool') {
    const [name = '', args = ''] = tool.split(':');
    const parsed =
      args === '' ? {} : (JSON.parse(decodeURIComponent(args)) as ScriptedToolCall['args']);
    return reply('', { toolCalls: [{ name, args: parsed }], delayMs });
  }
  const said = option('say');
  const text =
    said === undefined ? `seen ${users.length}: ${last.slice(0, 80)}` : decodeURIComponent(said);
  const cut = option('cut') ?? option('close');
  return reply(text.repeat(number('repeat', 1)), {
    delayMs,
    gapMs: number('gap'),
    ...(faulty && cut !== undefined
      ? { cut: { afterTokens: Number(cut), how: option('cut') === undefined ? 'close' : 'reset' } }
      : {}),
  });
};

export interface Dialogue {
  readonly turns: readonly { readonly user: string; readonly assistant: string }[];
}

/** Answers each turn of the dialogues with its reference reply; the user turns so far are the key. 400 for any other. */
export function fromDialogues(dialogues: readonly Dialogue[]): Answer {
  const replies = new Map<string, string>();
  for (const { turns } of dialogues) {
    const users: string[] = [];
    for (const turn of turns) {
      users.push(turn.user);
      replies.set(JSON.stringify(users), turn.assistant);
    }
  }
  return ({ users }) => {
    const text = replies.get(JSON.stringify(users));
    return text === undefined
      ? { kind: 'error', status: 400, code: 'unknown_dialogue' }
      : reply(text);
  };
}
