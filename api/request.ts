/** What headers say about a request: how it wants its answer, and the names it goes by in the log. */
import { randomUUID } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { Problem } from './problem.js';

/** How a turn is answered: at its end, as a stream, or at once with the place to look. */
export type AnswerMode = 'json' | 'stream' | 'async';

export function answerMode(req: Request): AnswerMode {
  if (/(^|,)\s*respond-async\s*(;|,|$)/i.test(req.get('prefer') ?? '')) return 'async';
  return wantsStream(req) ? 'stream' : 'json';
}

export const wantsStream = (req: Request): boolean =>
  req.accepts(['application/json', 'text/event-stream']) === 'text/event-stream';

/** Most header lines of a request. Node drops those past about 1,000 in silence, and X-Thread-ID with them. */
const maxHeaders = 100;

export const limitHeaders: RequestHandler = (req, _res, next) => {
  // Names and values stand in one list.
  if (req.rawHeaders.length > 2 * maxHeaders) {
    throw new Problem('headers_too_large', 'The request has too many header lines.');
  }
  if (req.httpVersion === '1.1' && req.headers.host === undefined) {
    throw new Problem('invalid_request', 'The request has no Host header.');
  }
  next();
};

/** What the log may say of a request besides its route: ids, never text. */
interface Noted {
  thread?: string;
  turn?: string;
}
const notes = new WeakMap<Response, Noted>();

/** Names the thread and the turn of a request for its log line; the thread also for the client. */
export function note(res: Response, ids: Noted): void {
  notes.set(res, { ...notes.get(res), ...ids });
  if (ids.thread !== undefined) res.set('X-Thread-ID', ids.thread);
}

/** Gives each request an id and one log line at its end. */
export const requestLog =
  (log: Logger): RequestHandler =>
  (req, res, next) => {
    const given = req.get('x-request-id') ?? '';
    const request = /^[A-Za-z0-9_-]{1,64}$/.test(given) ? given : randomUUID();
    const start = performance.now();
    res.set('X-Request-ID', request);
    res.on('close', () => {
      const ms = Math.round(performance.now() - start);
      const route = routeOf(req);
      const level = res.statusCode >= 500 ? 'warn' : route.startsWith('/v') ? 'info' : 'debug';
      const { method } = req;
      log[level](
        { request, method, route, status: res.statusCode, ms, ...notes.get(res) },
        'request',
      );
    });
    next();
  };

/** The pattern, not the path: a path may hold anything. */
function routeOf(req: Request): string {
  const route: unknown = req.route;
  if (typeof route !== 'object' || route === null || !('path' in route)) return 'unknown';
  return typeof route.path === 'string' ? route.path : 'unknown';
}
