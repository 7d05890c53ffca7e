import { describe, expect, test } from '@jest/globals';
import { classifyProviderError } from '../../llm/provider-errors.js';
import { Unstorable } from '../../storage/port.js';
import { revived, thrownOf } from '../../worker/isolation/thrown.js';

class APIConnectionError extends Error {}
const withFields = (message: string, fields: object): Error =>
  Object.assign(new Error(message), fields);

/** As a thread's message arrives. */
const crossed = (error: unknown): unknown => revived(structuredClone(thrownOf(error)));

describe('an error that has crossed to another thread', () => {
  test.each([
    [
      'a rate limit',
      withFields('x', { status: 429, headers: new Headers({ 'retry-after': '7' }) }),
    ],
    ['plain headers', withFields('x', { status: 429, headers: { 'retry-after-ms': '30' } })],
    ['a quota', withFields('x', { status: 429, error: { error: { code: 'insufficient_quota' } } })],
    ['a key', withFields('x', { response: { status: 401, data: 'secret' } })],
    ['a class', new APIConnectionError('odd words')],
    ['a cause', new Error('x', { cause: withFields('y', { code: 'ECONNRESET' }) })],
    ['words', withFields('prompt is too long', { status: 400 })],
    ['a service', withFields('x', { $metadata: { httpStatusCode: 503 } })],
    ['a bug', new TypeError('undefined is not a function')],
    ['a string', 'thrown'],
    ['nothing', undefined],
  ])('P3 means the same as before: %s', (_what, error) => {
    expect(classifyProviderError(crossed(error), 0)).toEqual(classifyProviderError(error, 0));
  });

  test('keeps its stack, and leaves requests and keys behind', () => {
    const error = withFields('x', { request: { apiKey: 'canary' }, config: { key: 'canary' } });
    expect(crossed(error)).toMatchObject({ message: 'x', stack: error.stack });
    expect(JSON.stringify(thrownOf(error))).not.toContain('canary');
  });

  test('what nobody can store stays that, and a ring of causes ends', () => {
    expect(crossed(new Unstorable('x'))).toBeInstanceOf(Unstorable);
    const ring = new Error('ring');
    ring.cause = ring;
    expect(crossed(ring)).toMatchObject({ message: 'ring' });
  });
});
