/** When tokens reach a client of plain HTTP, beside the times at which their producer made them. */
import { once } from 'node:events';
import http from 'node:http';
import { connect } from 'node:net';
import type { Readable } from 'node:stream';

export interface Arrival {
  /** Told by the producer in the token's own text. */
  readonly madeAtMs: number;
  readonly arrivedAtMs: number;
  /** Number of the piece of the response that brought it: two tokens of one piece came in one lump. */
  readonly piece: number;
}

const event = /event: (token|custom)\ndata: (.*)\n\n/g;
const madeAt = /(\d{4}-\d\d-\d\dT[\d:.]+Z)|"madeAtMs":(\d+)/;

/** `chunked`: as HTTP/1.1 does. `unchunked`: as HTTP/1.0 does, where the end of the connection ends the stream. */
export type Wire = 'chunked' | 'unchunked';

/** Posts a turn and reads its stream to the end, as `curl -N` does. */
export async function arrivals(
  base: string,
  thread: string,
  graph: string,
  wire: Wire = 'chunked',
): Promise<Arrival[]> {
  const found: Arrival[] = [];
  let piece = 0;
  let rest = '';
  let isDone = false;
  const body = JSON.stringify({ message: 'where is it?', graph });
  const url = new URL(`/v1/threads/${thread}/turns`, base);
  const source = wire === 'chunked' ? await byHttp11(url, body) : byHttp10(url, body);
  source.setEncoding('utf8');
  for await (const text of source as AsyncIterable<string>) {
    const arrivedAtMs = Date.now();
    piece += 1;
    rest += text;
    isDone ||= rest.includes('event: done');
    for (const [, , data = ''] of rest.matchAll(event)) {
      const [, iso, ms] = madeAt.exec(data) ?? [];
      const madeAtMs = iso === undefined ? Number(ms) : Date.parse(iso);
      if (Number.isFinite(madeAtMs)) found.push({ madeAtMs, arrivedAtMs, piece });
    }
    rest = rest.slice(rest.lastIndexOf('\n\n') + 2);
  }
  if (!isDone) throw new Error(`no done: ${rest}`);
  return found;
}

const asked = { 'content-type': 'application/json', accept: 'text/event-stream' };

async function byHttp11(url: URL, body: string): Promise<Readable> {
  const request = http.request(url, { method: 'POST', headers: asked });
  request.end(body);
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  return response;
}

/** Node's own client speaks nothing but 1.1. */
function byHttp10(url: URL, body: string): Readable {
  const headers = { host: url.host, 'content-length': Buffer.byteLength(body), ...asked };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const socket = connect(Number(url.port), url.hostname);
  socket.write([`POST ${url.pathname} HTTP/1.0`, ...lines, '', body].join('\r\n'));
  return socket;
}

/** Tokens that were there before the next one was made. A stream in one lump has none. */
export const inTime = (all: readonly Arrival[]): number =>
  all.filter((a, i) => a.arrivedAtMs < (all[i + 1]?.madeAtMs ?? -Infinity)).length;

export const gapsMs = (all: readonly Arrival[]): readonly number[] =>
  all.slice(1).map((a, i) => a.arrivedAtMs - (all[i]?.arrivedAtMs ?? NaN));

export const delaysMs = (all: readonly Arrival[]): readonly number[] =>
  all.map((a) => a.arrivedAtMs - a.madeAtMs);
