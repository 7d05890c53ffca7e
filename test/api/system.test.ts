import { afterEach, describe, expect, test } from '@jest/globals';
import { listen } from '../../api/server.js';
import { createServer } from 'node:http';
import express from 'express';
import { type AddressInfo } from 'node:net';
import { type Gateway, type Options, startGateway } from './gateway-under-test.js';

let gateway: Gateway | undefined;
const startWith = async (options: Options = {}): Promise<Gateway> =>
  (gateway = await startGateway(options));
afterEach(async () => {
  await gateway?.close();
  gateway = undefined;
});

interface Document {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, unknown>>;
  readonly components: { readonly schemas: Record<string, unknown> };
}

describe('what the gateway says of itself', () => {
  test('/healthz and /readyz answer 200 when all is well', async () => {
    const { get } = await startWith();
    expect((await get('/healthz')).json).toEqual({ status: 'ok' });
    expect((await get('/readyz')).status).toBe(200);
  });

  test('/readyz names what is missing', async () => {
    const { get } = await startWith({
      deps: { ready: () => Promise.resolve(['temporal', 'worker']) },
    });
    const a = await get('/readyz');
    expect([a.status, a.json.code, a.json.not_ready]).toEqual([
      ...[503, 'unavailable'],
      ['temporal', 'worker'],
    ]);
    expect(a.headers.get('retry-after')).toBe('1');
  });

  test('/openapi.json describes exactly the routes and methods that are served, and its references resolve', async () => {
    const { get, url } = await startWith();
    const { raw } = await get('/openapi.json');
    const document = JSON.parse(raw) as Document;
    expect(document.openapi).toBe('3.1.0');
    for (const [path, methods] of Object.entries(document.paths)) {
      const filled = path.replace('{thread}', 't-1').replace('{turn}', 'turn-1');
      const options = await fetch(url + filled, { method: 'OPTIONS' });
      expect([path, options.headers.get('allow')?.toLowerCase().split(', ')]).toEqual([
        ...[path, Object.keys(methods)],
      ]);
    }
    const references = [...raw.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)];
    for (const [, name] of references) expect(document.components.schemas).toHaveProperty(name!);
    expect(raw.match(/"\$ref"/g)).toHaveLength(references.length);
    expect(document.components.schemas.ChatRequest).toMatchObject({
      required: ['message'],
      additionalProperties: false,
    });
  });

  test('A6 a log line has ids, route, status and time, and no text', async () => {
    const { post, logged } = await startWith();
    await post(
      '/v1/chat',
      { message: 'canary-text' },
      { 'x-thread-id': 'log-1', 'x-request-id': 'r-1' },
    );
    await post('/v1/chat', { message: 'canary-text', canary: 1 }, { 'x-request-id': 'bad id' });
    const lines = logged.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines[0]).toMatchObject({
      ...{ request: 'r-1', method: 'POST', route: '/v1/chat', status: 200, thread: 'log-1' },
    });
    expect(lines[0]).toHaveProperty('turn');
    expect(lines[1]?.request).toMatch(/^[0-9a-f-]{36}$/);
    expect(logged.join('')).not.toContain('canary');
  });

  test('answers carry the headers of helmet, are stored nowhere, and do not name the framework', async () => {
    const { get } = await startWith();
    const { headers } = await get('/v1/threads/nobody');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-powered-by')).toBeNull();
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('listening and closing', () => {
  test('a taken port is named, and the setting that changes it', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const { port } = taken.address() as AddressInfo;
    const options = { host: '127.0.0.1', port, closing: new AbortController() };
    await expect(listen(express(), options)).rejects.toThrow(
      `Port ${port} on 127.0.0.1 is in use. Set PORT`,
    );
    taken.close();
  });

  test('closing ends streams with retry, answers waiters 202, and is over soon', async () => {
    const { server, stream, post } = await startWith({ work: async () => undefined });
    const open = await stream('/v1/threads/c-1/turns', { message: 'never answered' });
    await open.until('accepted');
    const waiting = post('/v1/threads/c-2/turns', { message: 'never answered' });
    while (!gateway?.wakes.some((wake) => wake.thread.threadId === 'c-2')) {
      await new Promise(setImmediate);
    }
    const start = performance.now();
    await server.close();
    expect(performance.now() - start).toBeLessThan(4_000); // force comes at 8 s
    const { status, headers } = await waiting;
    expect([status, headers.get('location')]).toEqual([
      202,
      expect.stringContaining('/c-2/turns/'),
    ]);
    const events = await open.rest();
    expect(events.map((e) => e.event)).toEqual(['accepted']);
  });
});
