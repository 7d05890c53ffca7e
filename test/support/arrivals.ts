/** When tokens reach a client of plain HTTP, beside the times at which their producer made them. */
import http from 'node:http';

export interface Arrival {
  /** Told by the producer in the token's own text. */
  readonly madeAtMs: number;
  readonly arrivedAtMs: number;
  /** Number of the piece of the response that brought it: two tokens of one piece came in one lump. */
  readonly piece: number;
}

const event = /event: (token|custom)\ndata: (.*)\n\n/g;
const madeAt = /(\d{4}-\d\d-\d\dT[\d:.]+Z)|"madeAtMs":(\d+)/;

/** Posts a turn and reads its stream to the end, as `curl -N` does. */
export function arrivals(base: string, thread: string, graph: string): Promise<Arrival[]> {
  const found: Arrival[] = [];
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', accept: 'text/event-stream' };
    const url = `${base}/v1/threads/${thread}/turns`;
    const request = http.request(url, { method: 'POST', headers }, (response) => {
      let piece = 0;
      let rest = '';
      let isDone = false;
      response.setEncoding('utf8');
      response.on('data', (text: string) => {
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
      });
      response.on('end', () =>
        isDone ? resolve(found) : reject(new Error(`no done: ${response.statusCode} ${rest}`)),
      );
      response.on('error', reject);
    });
    request.on('error', reject);
    request.end(JSON.stringify({ message: 'where is it?', graph }));
  });
}

/** Tokens that were there before the next one was made. A stream in one lump has none. */
export const inTime = (all: readonly Arrival[]): number =>
  all.filter((a, i) => a.arrivedAtMs < (all[i + 1]?.madeAtMs ?? -Infinity)).length;

export const gapsMs = (all: readonly Arrival[]): readonly number[] =>
  all.slice(1).map((a, i) => a.arrivedAtMs - (all[i]?.arrivedAtMs ?? NaN));

export const delaysMs = (all: readonly Arrival[]): readonly number[] =>
  all.map((a) => a.arrivedAtMs - a.madeAtMs);
