// A small HTTP server that speaks the gateway's wire format from a script: what a client sees, without a product behind it.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

export type Answer = (asked: Asked, response: ServerResponse) => void;

export interface TinyGateway {
  readonly url: string;
  readonly port: number;
  readonly asked: readonly Asked[];
  /** Bodies of the turns that were posted, in order. */
  readonly turns: readonly unknown[];
  close(): Promise<void>;
}

/** @param answers by `METHOD /path` after `/v1/threads/<id>`; the first one that the request starts with */
export async function startTinyGateway(answers: Record<string, Answer>): Promise<TinyGateway> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    void request.toArray().then((chunks) => {
      const raw = Buffer.concat(chunks as Buffer[]).toString();
      const { method = '', url = '', headers } = request;
      const body: unknown = raw === '' ? undefined : JSON.parse(raw);
      const one: Asked = { method, path: url, headers, body };
      asked.push(one);
      const route = `${method} ${url.replace(/^\/v1\/threads\/[^/?]+/, '')}`;
      const found = Object.entries(answers).find(([start]) => route.startsWith(start));
      if (url === '/healthz') sendJson(response, 200, { status: 'ok' });
      else if (found !== undefined) found[1](one, response);
      else sendProblem(response, 404, 'not_found', 'There is no such thread.');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    asked,
    get turns() {
      return asked
        .filter((a) => a.method === 'POST' && a.path.endsWith('/turns'))
        .map((a) => a.body);
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

export function sendProblem(
  response: ServerResponse,
  status: number,
  code: string,
  detail: string,
): void {
  response
    .writeHead(status, { 'content-type': 'application/problem+json' })
    .end(JSON.stringify({ type: 'about:blank', title: code, status, code, detail }));
}

export interface Sse {
  send(event: string, data: unknown, id?: string): void;
  token(text: string, id?: string, message?: string): void;
  done(response: string, more?: object): void;
  /** Breaks the connection once everything before it has left. */
  cut(): void;
}

/** Starts a stream with `accepted`. */
export function sse(response: ServerResponse, turnId = 't-1'): Sse {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  const send: Sse['send'] = (event, data, id) =>
    void response.write(
      `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`,
    );
  const identity = { thread_id: 'x', turn_id: turnId, seq: 1, epoch: 1, version: 0 };
  response.write('retry: 1000\n\n');
  send('accepted', identity);
  return {
    send,
    token: (text, id, message = 'm1') => send('token', { message_id: message, text }, id),
    done(text, more = {}) {
      send('done', {
        ...identity,
        version: 1,
        status: 'committed',
        response: text,
        output: null,
        ...more,
      });
      response.end();
    },
    cut: () => void response.write(': \n\n', () => response.destroy()),
  };
}
