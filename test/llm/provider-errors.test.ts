import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { HumanMessage } from '@langchain/core/messages';
import { callModel } from '../../llm/call-model.js';
import { createChatModel } from '../../llm/chat-model.js';
import { classifyProviderError, maxRetryAfterMs } from '../../llm/provider-errors.js';
import { startScriptedModel, type ScriptedModel } from '../support/scripted-model.js';

const nowMs = Date.parse('2026-03-01T12:00:00Z');
const secret = 'the-prompt-of-a-user';

let server: ScriptedModel;
beforeAll(async () => {
  server = await startScriptedModel();
  process.env.OPENAI_API_KEY = 'sk-very-secret';
  process.env.OPENAI_BASE_URL = server.url;
});
afterAll(() => server.close());

/** A listener makes LangGraph stream; both paths of the client must fail alike. */
const listener = { name: 'listener', lc_prefer_streaming: true, awaitHandlers: true };

async function failure(message: string, streams: boolean, signal?: AbortSignal): Promise<unknown> {
  const model = await createChatModel('openai:scripted', { docs: () => [] });
  const config = { ...(streams ? { callbacks: [listener] } : {}), ...(signal ? { signal } : {}) };
  return callModel(model, [new HumanMessage(`${message} ${secret}`)], config as object).then(
    (reply) => {
      throw new Error(`no failure but: ${reply.text}`);
    },
    (error: unknown) => error,
  );
}

const retryable = (code: string, retryAfterMs?: number) =>
  retryAfterMs === undefined
    ? { kind: 'retryable', code }
    : { kind: 'retryable', code, retryAfterMs };
const final = (code: string) => ({ kind: 'final', code, message: expect.any(String) });

const both = [true, false];
const streamed = [true];
const table: readonly (readonly [string, string, unknown, readonly boolean[]])[] = [
  ['401', 'fail=401', final('model_unauthorized'), both],
  ['403', 'fail=403', final('model_unauthorized'), both],
  ['404', 'fail=404', final('model_rejected'), both],
  ['400', 'fail=400', final('model_rejected'), both],
  ['422', 'fail=422', final('model_rejected'), both],
  ['400 context', 'fail=400 code=context_length_exceeded', final('context_too_long'), both],
  ['400 filter', 'fail=400 code=content_filter', final('content_filtered'), both],
  ['429', 'fail=429', retryable('model_rate_limited'), both],
  ['429 after 2 s', 'fail=429 after=2', retryable('model_rate_limited', 2_000), both],
  ['429 quota', 'fail=429 code=insufficient_quota', final('quota_exceeded'), both],
  ['408', 'fail=408', retryable('model_unavailable'), both],
  ['409', 'fail=409', retryable('model_unavailable'), both],
  ['500', 'fail=500', retryable('model_unavailable'), both],
  ['503 after 1 s', 'fail=503 after=1', retryable('model_unavailable', 1_000), both],
  ['a dropped socket', 'drop=1', retryable('model_unavailable'), both],
  ['garbage', 'garbage=1', retryable('model_garbage'), both],
  ['a stream cut off', 'cut=2 say=a%20b%20c%20d', retryable('model_unavailable'), streamed],
  ['a stream ended early', 'close=2 say=a%20b%20c%20d', retryable('model_unavailable'), streamed],
];

describe('what the provider sends, and what it means', () => {
  const rows = table.flatMap(([name, message, expected, paths]) =>
    paths.map((streams) => [name, streams ? 'streamed' : 'whole', message, expected] as const),
  );
  test.each(rows)('%s (%s)', async (_, path, message, expected) => {
    const known = classifyProviderError(await failure(message, path === 'streamed'), nowMs);
    expect(known).toEqual(expected);
    expect(JSON.stringify(known)).not.toMatch(new RegExp(`${secret}|sk-very|Scripted|http`));
  });

  test('nothing is retried by the client', () => {
    for (const [, message, , paths] of table)
      expect(server.calls.filter((c) => c.last === `${message} ${secret}`)).toHaveLength(
        paths.length,
      );
  });

  test.each([['streamed'], ['whole']])(
    'an abort of a hanging call is unknown (%s)',
    async (path) => {
      const abort = new AbortController();
      const message = `hang=1 ${path}`;
      const failed = failure(message, path === 'streamed', abort.signal);
      await server.until(() => server.count(message) === 1);
      abort.abort();
      expect(classifyProviderError(await failed, nowMs)).toEqual({ kind: 'unknown' });
      await server.until(() => server.calls.find((c) => c.last.startsWith(message))!.aborted);
    },
  );
});

describe('errors of other clients, by shape alone', () => {
  const error = (fields: object) => Object.assign(new Error(`${secret} http://x`), fields);
  test.each<readonly [string, unknown, unknown]>([
    ['Anthropic, overloaded', error({ status: 529 }), retryable('model_unavailable')],
    [
      'Anthropic, prompt too long',
      error({ status: 400, message: '400 prompt is too long: 300000 tokens' }),
      final('context_too_long'),
    ],
    [
      'AWS, throttled',
      error({ name: 'ThrottlingException', $metadata: { httpStatusCode: 400 } }),
      retryable('model_rate_limited'),
    ],
    ['axios, 401', error({ response: { status: 401, headers: {} } }), final('model_unauthorized')],
    [
      'axios, 429 with a date',
      error({
        response: { status: 429, headers: { 'retry-after': 'Sun, 01 Mar 2026 12:00:05 GMT' } },
      }),
      retryable('model_rate_limited', 5_000),
    ],
    [
      'a date that is past',
      error({ status: 429, headers: { 'retry-after': 'Sun, 01 Mar 2026 11:00:00 GMT' } }),
      retryable('model_rate_limited', 0),
    ],
    [
      'an hour is capped',
      error({ status: 429, headers: { 'retry-after': '3600' } }),
      retryable('model_rate_limited', maxRetryAfterMs),
    ],
    [
      'milliseconds win',
      error({ status: 429, headers: { 'retry-after-ms': '250', 'retry-after': '1' } }),
      retryable('model_rate_limited', 250),
    ],
    [
      'a header that is no time',
      error({ status: 429, headers: { 'retry-after': 'soon' } }),
      retryable('model_rate_limited'),
    ],
    ['Google, numeric code', error({ code: 503 }), retryable('model_unavailable')],
    ['node: ECONNRESET', error({ code: 'ECONNRESET' }), retryable('model_unavailable')],
    [
      'fetch failed, in a cause',
      error({ cause: new TypeError('fetch failed') }),
      retryable('model_unavailable'),
    ],
    ['a SyntaxError', new SyntaxError(secret), retryable('model_garbage')],
    ['the recursion limit', error({ name: 'GraphRecursionError' }), final('recursion_limit')],
    ['payment required', error({ status: 402 }), final('quota_exceeded')],
    ["a node's own error", error({}), { kind: 'unknown' }],
    ['an abort', error({ name: 'AbortError' }), { kind: 'unknown' }],
    ['a string', secret, { kind: 'unknown' }],
    ['nothing', undefined, { kind: 'unknown' }],
  ])('%s', (_, thrown, expected) => {
    const known = classifyProviderError(thrown, nowMs);
    expect(known).toEqual(expected);
    expect(JSON.stringify(known)).not.toMatch(new RegExp(`${secret}|http`));
  });

  test('a ring of causes ends', () => {
    const ring = error({});
    ring.cause = ring;
    expect(classifyProviderError(ring, nowMs)).toEqual({ kind: 'unknown' });
  });
});
