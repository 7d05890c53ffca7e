/** What a gateway answers until it has its database: it is up, and nothing can be asked of it yet. */
import express, { type Application } from 'express';
import helmet from 'helmet';
import type { Logger } from 'pino';
import { neverStored } from './app.js';
import { problemHandler, unavailable } from './problem.js';
import { limitHeaders, requestLog } from './request.js';

export function createWaitingApp(log: Logger): Application {
  const app = express();
  app.disable('x-powered-by').disable('etag');
  app.use(requestLog(log), limitHeaders, helmet(), neverStored);
  app.get('/healthz', (_req, res) => void res.json({ status: 'ok' }));
  app.get('/readyz', () => {
    throw unavailable('Not ready: database.', { not_ready: ['database'] });
  });
  app.use(() => {
    throw unavailable('The database does not answer.');
  });
  app.use(problemHandler(log));
  return app;
}
