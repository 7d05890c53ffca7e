/** An HTTP application whose requests are counted by route. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Meters } from './meters.js';

export function observedRequests(app: RequestListener, meters: Meters): RequestListener {
  const open = new Set<ServerResponse>();
  const countOpen = (): void => {
    const streams = [...open].filter(isStream).length;
    meters.openStreams.set(streams);
    meters.openRequests.set(open.size - streams);
  };
  meters.readings.push(countOpen);
  return (req, res) => {
    const sinceMs = performance.now();
    open.add(res);
    res.once('close', () => {
      open.delete(res);
      const route = routeOf(req);
      const method = knownMethods.has(req.method ?? '') ? (req.method ?? '') : 'other';
      meters.requests.inc({ method, route, status: res.statusCode });
      if (!isStream(res))
        meters.requestTime.observe({ route }, (performance.now() - sinceMs) / 1000);
    });
    app(req, res);
  };
}

const knownMethods = new Set(['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS']);

const isStream = (res: ServerResponse): boolean =>
  String(res.getHeader('content-type')).startsWith('text/event-stream');

/** The pattern that the router found, not the path: a path may hold anything. */
function routeOf(req: IncomingMessage): string {
  const route: unknown = 'route' in req ? req.route : undefined;
  if (typeof route !== 'object' || route === null || !('path' in route)) return 'unknown';
  return typeof route.path === 'string' ? route.path : 'unknown';
}
