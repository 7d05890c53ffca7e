import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { type Answer, type Gateway, startGateway } from './gateway-under-test.js';

let gateway: Gateway;
let memory: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
  memory = await startGateway({ kind: 'memory' });
});
afterAll(() => Promise.all([gateway.close(), memory.close()]));

function expectProblem(answer: Answer, status: number): void {
  expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  expect([answer.status, answer.json.status]).toEqual([status, status]);
  expect(answer.json).toMatchObject({ code: expect.any(String), title: expect.any(String) });
  expect(answer.raw).not.toMatch(/node_modules|\.ts:\d|at \w+ \(/);
}

const utf8 = (text: string): Buffer => Buffer.from(text);
const bad: [string, unknown, Record<string, string>, number][] = [
  ['malformed JSON', '{"message":', {}, 400],
  ['an empty body', '', {}, 400],
  ['no object', '"hi"', {}, 400],
  ['no message', {}, {}, 400],
  ['an empty message', { message: '' }, {}, 400],
  ['a blank message', { message: '  ' }, {}, 400],
  ['a message of the wrong type', { message: 7 }, {}, 400],
  ['a message that is too long', { message: 'x'.repeat(100_001) }, {}, 400],
  ['an unknown field', { message: 'a', role: 'system' }, {}, 400],
  ['a history made by the client', { message: 'a', messages: [] }, {}, 400],
  ['__proto__ as a field', '{"message":"a","__proto__":{"x":1}}', {}, 400],
  ['a thread id with a slash', { message: 'a' }, { 'x-thread-id': '../../x' }, 400],
  ['a thread id of 129', { message: 'a' }, { 'x-thread-id': 'x'.repeat(129) }, 400],
  ['an empty thread id', { message: 'a' }, { 'x-thread-id': '' }, 400],
  ['a thread id that paths lose', { message: 'a', thread_id: '..' }, {}, 400],
  ['a user id that paths lose', { message: 'a', user_id: '.' }, {}, 400],
  ['thread ids that differ', { message: 'a', thread_id: 'b1' }, { 'x-thread-id': 'b2' }, 400],
  ['an empty key', { message: 'a' }, { 'idempotency-key': '' }, 400],
  ['an empty quoted key', { message: 'a' }, { 'idempotency-key': '""' }, 400],
  ['a key of 129', { message: 'a' }, { 'idempotency-key': 'x'.repeat(129) }, 400],
  ['a key with a space', { message: 'a' }, { 'idempotency-key': 'a b' }, 400],
  ['plain text', '{"message":"a"}', { 'content-type': 'text/plain' }, 415],
  ['a form', 'message=a', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
  ['utf-7', '{"message":"a"}', { 'content-type': 'application/json; charset=utf-7' }, 415],
  ['latin-1', '{"message":"a"}', { 'content-type': 'application/json; charset=iso-8859-1' }, 415],
  ['an unknown encoding', '{"message":"a"}', { 'content-encoding': 'zap' }, 415],
  ['bytes that are no gzip', '{"message":"a"}', { 'content-encoding': 'gzip' }, 400],
  ['10 MB', { message: 'x'.repeat(10 << 20) }, {}, 413],
  ['a gzip bomb', gzipSync(Buffer.alloc(50 << 20, ' ')), { 'content-encoding': 'gzip' }, 413],
  ['NUL', { message: 'a\u0000b' }, {}, 400],
  ['a lone surrogate', '{"message":"\\ud800"}', {}, 400],
  ['an unknown graph', { message: 'a', graph: 'nope' }, {}, 404],
  ['deep nesting', `{"message":"a","x":${'['.repeat(50_000)}${']'.repeat(50_000)}}`, {}, 400],
  [
    'invalid UTF-8',
    Buffer.concat([utf8('{"message":"'), Buffer.of(0xff, 0xfe), utf8('"}')]),
    {},
    400,
  ],
  ['a wrong if_version', { message: 'a', if_version: -1 }, {}, 400],
  ['an unknown multitask', { message: 'a', multitask: 'fork' }, {}, 400],
];

describe('bad requests write nothing and say why', () => {
  test.each(bad)('A1 A5 %s', async (_name, body, headers, status) => {
    const wakes = gateway.wakes.length;
    expectProblem(await gateway.post('/v1/chat', body, headers), status);
    expect(gateway.wakes).toHaveLength(wakes);
  });

  const inputs: [string, string][] = [
    ['NUL in a string', '{"input":{"a":["\\u0000"]}}'],
    ['NUL in a key', '{"input":{"\\u0000":1}}'],
    ['a lone surrogate', '{"resume":"\\udc00x"}'],
    ['a number that is not finite', '{"input":1e400}'],
    ['an integer that a double would change', '{"input":9007199254740993}'],
    ['two kinds of input', '{"input":1,"message":"a"}'],
    ['no kind of input', '{"graph":"agent"}'],
  ];
  test.each(inputs)('A1 an input with %s', async (_name, body) => {
    expectProblem(await gateway.post('/v1/threads/input/turns', body), 400);
    expect((await gateway.get('/v1/threads/input')).status).toBe(404);
  });

  test('what the client made up is not said back', async () => {
    const a = await gateway.post('/v1/chat', { message: 'a', '<img src=x onerror=1>': 1, role: 2 });
    expectProblem(a, 400);
    expect(a.raw).not.toContain('<img');
    expect(a.json.errors).toEqual([{ path: '', message: 'unknown field ?, role' }]);
    const b = await gateway.post('/v1/chat', { message: 'a' }, { 'x-thread-id': 'a/b' });
    expect(b.headers.get('x-thread-id')).toBeNull();
  });

  test('a path that is no text, an unknown route, an unknown method', async () => {
    expectProblem(await gateway.get('/v1/threads/%zz'), 400);
    expectProblem(await gateway.get('/v1/threads/%00'), 400);
    expectProblem(await gateway.get('/v1/threads/a/turns/%00'), 404);
    expectProblem(await gateway.get('/v1/nothing'), 404);
    const a = await gateway.get('/v1/chat');
    expectProblem(a, 405);
    expect(a.headers.get('allow')).toBe('POST');
    expectProblem(await gateway.get('/v1/threads/a/messages?limit=201'), 400);
    expectProblem(await gateway.get('/v1/threads/a/messages?after=x'), 400);
    expectProblem(await gateway.get('/v1/threads/a/messages?limits=1'), 400);
  });

  test('path, header and body name one thread', async () => {
    const a = await gateway.post(
      '/v1/threads/p-1/turns',
      { message: 'a' },
      { 'x-thread-id': 'p-2' },
    );
    expect([a.status, a.json.code]).toEqual([400, 'thread_id_mismatch']);
    const b = await gateway.get('/v1/threads/p-1', { 'x-thread-id': 'p-2' });
    expect(b.json.code).toBe('thread_id_mismatch');
  });

  test('memory storage refuses keys', async () => {
    const a = await memory.post('/v1/chat', { message: 'a' }, { 'idempotency-key': 'k' });
    expect([a.status, a.json.code]).toEqual([409, 'idempotency_unsupported']);
    expect((await memory.post('/v1/chat', { message: 'a' })).status).toBe(200);
  });

  test('numbers and text at the border are taken as they are', async () => {
    const a = await gateway.post(
      '/v1/threads/exact/turns',
      '{"input":{"n":9007199254740991,"f":0.1,"bidi":"\\u202e","deep":[[[[]]]],"s":"12345678901234567890 \\" ["}}',
      { 'idempotency-key': 'x'.repeat(128) },
    );
    expect(a.status).toBe(200);
    expect((await gateway.post('/v1/chat', { message: 'x'.repeat(100_000) })).status).toBe(200);
  });
});

describe('A13 what a request may hold is a setting', () => {
  test('a longer message, a smaller body: both limits are named, and the OpenAPI document tells them', async () => {
    const small = await startGateway({ settings: { bodyBytes: 2_000, messageChars: 10 } });
    try {
      for (const [route, field] of [
        ['/v1/chat', 'message'],
        ['/v2/agent/invoke', 'user_input'],
        ['/v1/threads/t/turns', 'message'],
      ] as const) {
        expect((await small.post(route, { [field]: 'x'.repeat(10) })).status).toBe(200);
        const long = await small.post(route, { [field]: 'x'.repeat(11) });
        expectProblem(long, 400);
        expect(long.json.detail).toBe('A message has at most 10 characters.');
      }
      const large = await small.post('/v1/chat', { message: 'x'.repeat(2_000) });
      expectProblem(large, 413);
      expect(large.json.detail).toContain('2000 bytes');
      const { components } = (await small.get('/openapi.json')).json as unknown as {
        components: { schemas: Record<string, { properties: Record<string, unknown> }> };
      };
      expect(components.schemas.ChatRequest!.properties.message).toMatchObject({ maxLength: 10 });
      expect(components.schemas.InvokeRequest!.properties.user_input).toMatchObject({
        maxLength: 10,
      });
    } finally {
      await small.close();
    }
  });
});

const raw = (head: string[], body = ''): Promise<string> =>
  bytes(`${head.join('\r\n')}\r\n\r\n${body}`);

/** Sends bytes as they are and gives all that comes back. */
async function bytes(sent: string, port = gateway.port): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let got = '';
  socket.on('data', (data) => (got += data.toString('latin1')));
  socket.on('error', () => undefined);
  socket.write(sent);
  await once(socket, 'close');
  return got;
}
const chatHead = (...more: string[]): string[] => [
  'POST /v1/chat HTTP/1.1',
  'host: x',
  'connection: close',
  'content-type: application/json',
  `content-length: ${chatBody.length}`,
  ...more,
];
const chatBody = '{"message":"raw"}';

describe('what only a raw socket can send', () => {
  test('a doubled X-Thread-ID or Idempotency-Key is refused, even when both are equal', async () => {
    const a = await raw(chatHead('x-thread-id: aaa', 'X-Thread-Id: aaa'), chatBody);
    expect(a).toMatch(/^HTTP\/1.1 400 /);
    const b = await raw(chatHead('idempotency-key: k', 'idempotency-key: k2'), chatBody);
    expect(b).toMatch(/^HTTP\/1.1 400 /);
  });

  test('2,500 headers before X-Thread-ID do not make a new thread', async () => {
    const many = Array.from({ length: 2_500 }, () => 'a:');
    const got = await raw(chatHead(...many, 'x-thread-id: lost'), chatBody);
    expect(got).toMatch(/^HTTP\/1.1 431 /);
  });

  test('a header with a bare line break, a doubled length, or non-ASCII in a thread id is refused', async () => {
    expect(await raw(chatHead('x-thread-id: a\nb: c\r\r'), chatBody)).toMatch(/^HTTP\/1.1 400 /);
    expect(await raw(chatHead('transfer-encoding: chunked'), chatBody)).toMatch(/^HTTP\/1.1 400 /);
    expect(await raw(chatHead('x-thread-id: \u00e9'), chatBody)).toMatch(/^HTTP\/1.1 400 /);
  });

  test.each([
    ['no HTTP at all', 'hello', 400, 'invalid_request'],
    [
      'a doubled length',
      'POST /v1/chat HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2',
      400,
      'invalid_request',
    ],
    [
      'a head of 20 kB',
      `GET /healthz HTTP/1.1\r\nhost: x\r\na: ${'x'.repeat(20_000)}`,
      431,
      'headers_too_large',
    ],
    ['no host', 'GET /healthz HTTP/1.1\r\nconnection: close', 400, 'invalid_request'],
  ])('A7 %s is a problem with a code', async (_name, head, status, code) => {
    const got = await raw([head]);
    expect(got).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(got).toMatch(/^content-type: application\/problem\+json/im);
    expect(JSON.parse(got.slice(got.indexOf('{')))).toMatchObject({ status, code });
  });

  test('A7 an expectation that nobody knows is passed over', async () => {
    const got = await raw([
      'GET /healthz HTTP/1.1',
      'host: x',
      'expect: miracles',
      'connection: close',
    ]);
    expect(got).toMatch(/^HTTP\/1.1 200 /);
  });

  test('A7 P9 what does not arrive in time is a 408 and no turn; what is under way is never answered by it', async () => {
    const limits = { headersMs: 150, requestMs: 300, lookEveryMs: 50 };
    const slow = await startGateway({
      limits,
      work: async (worker) => {
        await pause(2 * limits.requestMs);
        await worker.reply('late, and well');
      },
    });
    try {
      const whole = `${chatHead().join('\r\n')}\r\n\r\n${chatBody}`;
      const late = [whole.slice(0, 40), whole.slice(0, -3)];
      for (const got of await Promise.all(late.map((part) => bytes(part, slow.port)))) {
        expect(got).toMatch(/^HTTP\/1\.1 408 /);
        expect(JSON.parse(got.slice(got.indexOf('{')))).toMatchObject({ code: 'request_timeout' });
      }
      expect(slow.wakes).toEqual([]);
      expect(await bytes(whole, slow.port)).toMatch(/^HTTP\/1\.1 200 [^]*late, and well/);
      const kept = whole.replace('connection: close\r\n', '');
      expect(await bytes(`${kept}GARBAGE\r\n\r\n`, slow.port)).toBe('');
      expect(slow.wakes).toHaveLength(2);
      // Frozen for longer than all limits, with a whole request unread.
      const socket = connect(slow.port, '127.0.0.1');
      await once(socket, 'connect');
      await slow.get('/healthz');
      socket.write(whole);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * limits.requestMs);
      expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 /);
    } finally {
      await slow.close();
    }
  });

  test('a body without a content type is refused', async () => {
    const head = chatHead().filter((line) => !line.startsWith('content-type'));
    expect(await raw(head, chatBody)).toMatch(/^HTTP\/1.1 415 /);
  });
});
