/** The gateway as an express application: routes and what stands around them. It listens to nothing; `server.ts` does. */
import express, { type Application, type Request, type Response } from 'express';
import helmet from 'helmet';
import { jsonBody } from './body.js';
import type { GatewayDeps } from './deps.js';
import type { Gateway } from './gateway.js';
import { Problem, problemHandler } from './problem.js';
import { limitHeaders, requestLog } from './request.js';
import { health, openApi, ready } from './routes/system-routes.js';
import {
  createThread,
  deleteThread,
  listMessages,
  showHistory,
  showState,
  showThread,
} from './routes/thread-routes.js';
import {
  cancelTurn,
  chat,
  createTurn,
  invokeAgent,
  joinTurn,
  showTurn,
} from './routes/turn-routes.js';
import { turnWatch } from './wait.js';

type Handler = (gateway: Gateway, req: Request, res: Response) => void | Promise<void>;
type Method = 'get' | 'post' | 'delete';

const routes: Readonly<Record<string, Readonly<Partial<Record<Method, Handler>>>>> = {
  '/healthz': { get: health },
  '/readyz': { get: ready },
  '/openapi.json': { get: openApi },
  '/v1/chat': { post: chat },
  '/v2/agent/invoke': { post: invokeAgent },
  '/v1/threads': { post: createThread },
  '/v1/threads/:thread': { get: showThread, delete: deleteThread },
  '/v1/threads/:thread/messages': { get: listMessages },
  '/v1/threads/:thread/state': { get: showState },
  '/v1/threads/:thread/history': { get: showHistory },
  '/v1/threads/:thread/turns': { post: createTurn },
  '/v1/threads/:thread/turns/:turn': { get: showTurn },
  '/v1/threads/:thread/turns/:turn/stream': { get: joinTurn },
  '/v1/threads/:thread/turns/:turn/cancel': { post: cancelTurn },
};

export function createApp(deps: GatewayDeps): Application {
  const { storage, relay, log, settings } = deps;
  const watch = turnWatch({ turns: storage.turns, relay, pollMs: settings.pollMs, log });
  const gateway: Gateway = { ...deps, watch };
  const app = express();
  app.disable('x-powered-by').disable('etag');
  app.use(requestLog(log), limitHeaders, helmet(), neverStored);
  const body = jsonBody(settings.bodyBytes);
  for (const [path, handlers] of Object.entries(routes)) {
    const route = app.route(path);
    for (const method of Object.keys(handlers) as Method[]) {
      const handler = handlers[method];
      if (handler === undefined) continue;
      const run = (req: Request, res: Response): void | Promise<void> => handler(gateway, req, res);
      if (method === 'post') route.post(...body, run);
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
