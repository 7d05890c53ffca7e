/** What of an error may stand in a log: where and what kind, and its words only when they cannot quote a conversation. */
export interface SafeError {
  readonly type: string;
  readonly code?: string | number;
  readonly status?: number;
  readonly words?: string;
  readonly at?: readonly string[];
  readonly cause?: SafeError;
}

export const isErrorLike = (value: unknown): value is Error => value instanceof Error;

/** Enough to see whose code failed, short enough to read. */
const mostFrames = 8;
/** Chains longer than this are cycles or noise. */
const mostCauses = 4;

export function safeError(
  error: Error,
  { withWords }: { withWords: boolean },
  depth = 0,
): SafeError {
  const { code, status, syscall } = error as Error & Record<string, unknown>;
  // Node's own system errors name a call and an address, never a conversation.
  const mayQuote = typeof syscall !== 'string';
  const at = frames(error);
  return {
    type: error.name,
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(typeof status === 'number' ? { status } : {}),
    ...(withWords || !mayQuote ? { words: withoutPasswords(error.message) } : {}),
    ...(at.length > 0 ? { at } : {}),
    ...(isErrorLike(error.cause) && depth < mostCauses
      ? { cause: safeError(error.cause, { withWords }, depth + 1) }
      : {}),
  };
}

/** The frames of a stack without its head, which repeats the message. */
function frames({ stack = '', message }: Error): string[] {
  const head = stack.indexOf(message);
  return stack
    .slice(head < 0 ? 0 : head + message.length)
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, mostFrames)
    .map((line) => line.trim().slice('at '.length));
}

/** `postgresql://user:secret@host` and its like, anywhere in a text. */
const withoutPasswords = (text: string): string =>
  text.replaceAll(/(\b[a-z][a-z0-9+.-]*:\/\/[^\s:@/]*):[^\s@/]*@/gi, '$1:***@');
