import type { Failure, FailureCode } from '../contracts/failure.js';

/** What an error thrown by a node or a model means for the turn. */
export type ProviderErrorClass =
  | { readonly kind: 'retryable'; readonly code: RetryableCode; readonly retryAfterMs?: number }
  | ({ readonly kind: 'final' } & Failure)
  /** Nothing known about it; whoever counts tries decides. An abort is unknown too: only its caller knows who asked. */
  | { readonly kind: 'unknown' };

export type RetryableCode = Extract<
  FailureCode,
  'model_rate_limited' | 'model_unavailable' | 'model_garbage'
>;

/** A longer wait than this outlives most turns' deadline (10 min), so the provider is asked again after it. */
export const maxRetryAfterMs = 120_000;

/**
 * Classifies by shape alone: provider packages differ and a project brings its own copies. What it returns is safe to store
 * and to show: the words are ours, since providers quote prompts and keys in their messages.
 */
export function classifyProviderError(error: unknown, nowMs: number): ProviderErrorClass {
  for (const link of causes(error)) {
    const known = classifyLink(link, nowMs);
    if (known.kind !== 'unknown') return known;
  }
  return { kind: 'unknown' };
}

type Fields = Readonly<Record<string, unknown>>;

/** An error, then what caused it; bounded, since a chain may be a ring. */
function* causes(error: unknown): Generator<Fields> {
  let link = error;
  for (let depth = 0; depth < 6 && typeof link === 'object' && link !== null; depth++) {
    yield link as Fields;
    link = (link as Fields).cause;
  }
}

function classifyLink(error: Fields, nowMs: number): ProviderErrorClass {
  const traits = traitsOf(error);
  const code = finalCode(error, traits);
  if (code !== undefined) return { kind: 'final', code, message: finalMessages[code] };
  const status = statusOf(error);
  if (status === 429 || has(traits, rateLimitTraits))
    return retryable('model_rate_limited', retryAfterMs(error, nowMs));
  if (status !== undefined) return classifyStatus(status, error, nowMs);
  if (has(traits, networkTraits) || networkMessage.test(messageOf(error)))
    return retryable('model_unavailable');
  if (has(traits, garbageTraits)) return retryable('model_garbage');
  return { kind: 'unknown' };
}

function classifyStatus(status: number, error: Fields, nowMs: number): ProviderErrorClass {
  if (status >= 500 || status === 408 || status === 409 || status === 425)
    return retryable('model_unavailable', retryAfterMs(error, nowMs));
  if (status < 400) return { kind: 'unknown' };
  const code =
    status === 401 || status === 403
      ? 'model_unauthorized'
      : status === 402
        ? 'quota_exceeded'
        : status === 413
          ? 'context_too_long'
          : 'model_rejected';
  return { kind: 'final', code, message: finalMessages[code] };
}

const retryable = (code: RetryableCode, afterMs?: number): ProviderErrorClass => ({
  kind: 'retryable',
  code,
  ...(afterMs === undefined ? {} : { retryAfterMs: afterMs }),
});

type FinalCode = Extract<
  FailureCode,
  | 'model_unauthorized'
  | 'model_rejected'
  | 'context_too_long'
  | 'content_filtered'
  | 'quota_exceeded'
  | 'recursion_limit'
>;

const finalMessages: Readonly<Record<FinalCode, string>> = {
  model_unauthorized: "The model provider refused the worker's credentials.",
  model_rejected: 'The model provider refused the request.',
  context_too_long: "The thread is longer than the model's context.",
  content_filtered: "The model provider's content filter refused the request or the reply.",
  quota_exceeded: "The model provider's quota is used up.",
  recursion_limit: 'The graph reached its recursion limit without finishing.',
};

const quotaTraits = [
  'insufficient_quota',
  'billing_hard_limit_reached',
  'billing_error',
  'InsufficientQuotaError',
];
const contextTraits = ['context_length_exceeded', 'ContextOverflowError', 'request_too_large'];
const filterTraits = [
  'content_filter',
  'content_filtered',
  'content_policy_violation',
  'ResponsibleAIPolicyViolation',
  'ContentFilterFinishReasonError',
  'ModelRefusalError',
];
const recursionTraits = ['GraphRecursionError', 'GRAPH_RECURSION_LIMIT'];
const rateLimitTraits = ['rate_limit_exceeded', 'rate_limit_error', 'ThrottlingException'];
const garbageTraits = ['SyntaxError', 'model_garbage'];
const networkTraits = [
  ...['ECONNRESET', 'ECONNREFUSED', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN'],
  ...['ENOTFOUND', 'ENETUNREACH', 'EHOSTUNREACH', 'ERR_STREAM_PREMATURE_CLOSE'],
  ...['UND_ERR_SOCKET', 'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT'],
  ...['UND_ERR_BODY_TIMEOUT', 'APIConnectionError', 'APIConnectionTimeoutError', 'TimeoutError'],
  ...['overloaded_error', 'model_unavailable'],
];

/** For errors that carry nothing but words; these are the clients' own, never a provider's. */
const networkMessage =
  /^(fetch failed|terminated|premature close|socket hang up|connection error\.?|network error)$/i;
const contextMessage =
  /maximum context length|exceeds the context window|context_length_exceeded|prompt is too long|input is too long/i;

function finalCode(error: Fields, traits: ReadonlySet<string>): FinalCode | undefined {
  if (has(traits, quotaTraits)) return 'quota_exceeded';
  if (has(traits, contextTraits)) return 'context_too_long';
  if (has(traits, filterTraits)) return 'content_filtered';
  if (has(traits, recursionTraits)) return 'recursion_limit';
  const status = statusOf(error);
  if ((status === 400 || status === 422) && contextMessage.test(messageOf(error)))
    return 'context_too_long';
  return undefined;
}

const has = (traits: ReadonlySet<string>, wanted: readonly string[]): boolean =>
  wanted.some((trait) => traits.has(trait));

const messageOf = (error: Fields): string =>
  typeof error.message === 'string' ? error.message : '';

/** Every name that the error goes by: code, type, class, and those of the provider's error body inside it. */
function traitsOf(error: Fields): ReadonlySet<string> {
  const found = new Set<string>();
  const add = (value: unknown) => typeof value === 'string' && found.add(value);
  const addBody = (body: unknown, depth: number): void => {
    if (typeof body !== 'object' || body === null || depth > 2) return;
    const fields = body as Fields;
    add(fields.code);
    add(fields.type);
    addBody(fields.error, depth + 1);
    addBody(fields.innererror, depth + 1);
  };
  add(error.name);
  add(error.lc_error_code);
  add((error.constructor as { name?: unknown } | undefined)?.name);
  addBody(error, 0);
  return found;
}

/** The HTTP status under the names that the providers' clients use. */
function statusOf(error: Fields): number | undefined {
  const nested = (key: string, inner: string): unknown =>
    (error[key] as Fields | null | undefined)?.[inner];
  const candidates = [
    ...[error.status, error.statusCode, error.status_code, error.code],
    ...[nested('response', 'status'), nested('$metadata', 'httpStatusCode')],
  ];
  return candidates.find(
    (value): value is number => typeof value === 'number' && value >= 300 && value < 600,
  );
}

/** `Retry-After` in seconds or as a date, `retry-after-ms`, or the client's own reading of them; capped. */
function retryAfterMs(error: Fields, nowMs: number): number | undefined {
  const headers = error.headers ?? (error.response as Fields | null | undefined)?.headers;
  const inMs = Number(header(headers, 'retry-after-ms') ?? NaN);
  const after = header(headers, 'retry-after');
  const seconds = after === undefined || after.trim() === '' ? NaN : Number(after);
  const atMs = after === undefined ? NaN : Date.parse(after);
  const own = typeof error.retryAfterMs === 'number' ? error.retryAfterMs : NaN;
  const waitMs = [inMs, seconds * 1_000, own, atMs - nowMs].find((ms) => Number.isFinite(ms));
  return waitMs === undefined ? undefined : Math.min(Math.max(waitMs, 0), maxRetryAfterMs);
}

function header(headers: unknown, name: string): string | undefined {
  if (typeof headers !== 'object' || headers === null) return undefined;
  const { get } = headers as { get?: unknown };
  const value: unknown =
    typeof get === 'function' ? get.call(headers, name) : (headers as Fields)[name];
  return typeof value === 'string' ? value : undefined;
}
