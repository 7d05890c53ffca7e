/** Turns over HTTP with as little work as a client can have, since the client shares the machine with what it measures. */
import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { createParser } from 'eventsource-parser';

export interface Answer {
  readonly status: number;
  readonly body: string;
}

export interface HttpClient {
  /** @throws Error with the answer when it is neither 200 nor 202 */
  post(path: string, body: object, headers?: Record<string, string>): Promise<Answer>;
  get(path: string): Promise<Answer>;
  /** Posts and calls `onEvent` for each server-sent event until the stream ends. */
  stream(path: string, body: object, onEvent: (event: string, data: string) => void): Promise<void>;
  /** Joins a stream and reads what comes until `close`; resolves when it is open. */
  join(path: string): Promise<void>;
  close(): void;
}

export function httpClient(url: string): HttpClient {
  const agent = new Agent({ keepAlive: true, maxSockets: 4_096 });
  const send = (
    method: string,
    path: string,
    given: { readonly body?: object; readonly headers?: Record<string, string> },
  ): Promise<IncomingMessage> => {
    const text = given.body === undefined ? undefined : JSON.stringify(given.body);
    return new Promise((resolve, reject) => {
      const outgoing = request(`${url}${path}`, {
        method,
        agent,
        headers: {
          ...(text !== undefined && {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(text),
          }),
          ...given.headers,
        },
      });
      outgoing.once('response', resolve).once('error', reject).end(text);
    });
  };
  const whole = async (path: string, response: IncomingMessage): Promise<Answer> => {
    const body = Buffer.concat(await response.toArray()).toString('utf8');
    const status = response.statusCode ?? 0;
    if (status !== 200 && status !== 202)
      throw new Error(`${path}: ${status} ${body.slice(0, 500)}`);
    return { status, body };
  };
  return {
    post: async (path, body, headers = {}) =>
      whole(path, await send('POST', path, { body, headers })),
    get: async (path) => whole(path, await send('GET', path, {})),
    async stream(path, body, onEvent) {
      const headers = { accept: 'text/event-stream' };
      const response = await send('POST', path, { body, headers });
      const parser = createParser({
        onEvent: ({ event, data }) => onEvent(event ?? 'message', data),
      });
      for await (const chunk of response.setEncoding('utf8')) parser.feed(chunk as string);
    },
    async join(path) {
      const response = await send('GET', path, { headers: { accept: 'text/event-stream' } });
      response.once('error', () => undefined).resume();
    },
    close: () => agent.destroy(),
  };
}

/** Turns of many threads of one graph, each with the next message of its prose. */
export function chatTurns(
  client: HttpClient,
  names: { readonly prefix: string; readonly graph: string },
  message: (thread: number, n: number) => string,
): (thread: number) => Promise<void> {
  const made: number[] = [];
  return async (thread) => {
    const n = (made[thread] = (made[thread] ?? 0) + 1);
    await client.post(`/v1/threads/${names.prefix}-${thread}/turns`, {
      message: message(thread, n),
      graph: names.graph,
    });
  };
}
