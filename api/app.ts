/** The gateway as an express application: routes and what stands around them. It listens to nothing; `server.ts` does. */
import { setMaxListeners } from 'node:events';
import express, { type Application, type Request, type Response } from 'express';
import helmet from 'helmet';
import type { Logger } from 'pino';
import { jsonBody } from './body.js';
import { allowOrigins } from './cors.js';
import type { GatewayDeps } from './deps.js';
import type { Gateway } from './gateway.js';
import { places } from './places.js';
import { Problem, problemHandler } from './problem.js';
import { projectApp } from './project-app.js';
import { limitHeaders, requestLog } from './request.js';
import { type Handlers, type Method, routes } from './routes.js';
import { turnWatch } from './wait.js';

/** Pieces of long replies that are read at once: their garbage is what a process would grow by. */
const piecesAtOnce = 2;

export function createApp(deps: GatewayDeps): Application {
  const { storage, relay, log, settings } = deps;
  const watch = turnWatch({ turns: storage.turns, relay, pollMs: settings.pollMs, log });
  const gateway: Gateway = { ...deps, watch, places: places(piecesAtOnce) };
  // Every open stream and every waiter listens to it: no leak.
  setMaxListeners(0, deps.closing);
  const app = bareApp(log);
  if (deps.cors !== undefined) app.use(allowOrigins(deps.cors));
  // Before a body is read: who may not ask costs nothing.
  app.use(async (req, _res, next) => {
    if (!isOpen(req.path)) await deps.identify(req);
    next();
  });
  if (deps.app !== undefined) app.use(projectApp(deps.app));
  const body = jsonBody(settings.bodyBytes);
  for (const [path, handlers] of Object.entries<Handlers>(routes)) {
    const route = app.route(path);
    for (const method of Object.keys(handlers) as Method[]) {
      const handler = handlers[method];
      if (handler === undefined) continue;
      const run = (req: Request, res: Response): void | Promise<void> => handler(gateway, req, res);
      if (method === 'post' || method === 'put') route[method](...body, run);
      else route[method](run);
    }
    route.all((req, res) => otherMethod(req, res, Object.keys(handlers)));
  }
  app.use(() => {
    throw new Problem('not_found', 'There is no such route.');
  });
  app.use(problemHandler(log));
  return app;
}

/** What probes and tools ask, who have no key. */
const isOpen = (path: string): boolean =>
  path === '/healthz' || path === '/readyz' || path === '/openapi.json';

/** What stands before every route, whatever the routes are. */
export function bareApp(log: Logger): Application {
  const app = express();
  app.disable('x-powered-by').disable('etag');
  return app.use(requestLog(log), limitHeaders, helmet(), neverStored);
}

/** What threads say is nobody's to keep on the way. */
const neverStored: express.RequestHandler = (_req, res, next) => {
  res.set('Cache-Control', 'no-store');
  next();
};

function otherMethod(req: Request, res: Response, methods: readonly string[]): void {
  res.set('Allow', methods.map((method) => method.toUpperCase()).join(', '));
  if (req.method !== 'OPTIONS') {
    throw new Problem('method_not_allowed', 'This route does not take that method.');
  }
  res.status(204).end();
}
