/** What a gateway answers until it has its database: it is up, and nothing can be asked of it yet. */
import type { Application } from 'express';
import type { Logger } from 'pino';
import { bareApp } from './app.js';
import { problemHandler, unavailable } from './problem.js';

export function createWaitingApp(log: Logger): Application {
  const app = bareApp(log);
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
