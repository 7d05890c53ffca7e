/** A span for each request, in the trace that its `traceparent` names. */
import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Span, Tracer } from '@opentelemetry/api';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

/** What asks every few seconds whether we are there. */
const untraced = new Set(['/healthz', '/readyz']);

export const tracedRequests =
  (app: RequestListener, tracer: Tracer): RequestListener =>
  (req, res) => {
    if (untraced.has(req.url ?? '')) {
      app(req, res);
      return;
    }
    const caller = propagation.extract(context.active(), req.headers);
    const span = tracer.startSpan(methodOf(req), { kind: SpanKind.SERVER }, caller);
    res.once('close', () => end(span, req, res));
    context.with(trace.setSpan(caller, span), () => app(req, res));
  };

function end(
  span: Span,
  req: IncomingMessage,
  { statusCode, writableFinished }: ServerResponse,
): void {
  const route = routeOf(req);
  const method = methodOf(req);
  span.updateName(route === undefined ? method : `${method} ${route}`);
  span.setAttributes({
    'http.request.method': method,
    'http.response.status_code': statusCode,
    ...(route !== undefined && { 'http.route': route }),
    ...(!writableFinished && { 'everthread.client_left': true }),
  });
  if (statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

/** Anything may stand there; conventions want `_OTHER` for what is no method. */
const methodOf = ({ method = '' }: IncomingMessage): string =>
  /^(GET|POST|PUT|DELETE|HEAD|OPTIONS|PATCH)$/.test(method) ? method : '_OTHER';

/** The pattern that the router found, not the path: a path may hold anything. */
function routeOf(req: IncomingMessage): string | undefined {
  const route: unknown = 'route' in req ? req.route : undefined;
  if (typeof route !== 'object' || route === null || !('path' in route)) return undefined;
  return typeof route.path === 'string' ? route.path : undefined;
}
