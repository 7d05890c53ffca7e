/** What the project adds to the gateway: `auth` and `http` of its langgraph.json, loaded only where it has any. */
import type { Logger } from 'pino';
import { runContext } from '../activities/run-context.js';
import { identifyEverybody, type GatewayDeps } from '../api/deps.js';
import { identifyBy } from '../api/project-auth.js';
import type { Config } from '../config/config.js';
import { liveEnvironment } from '../config/env.js';
import type { ProjectApp } from '../contracts/project-http.js';

export type ProjectGate = Pick<GatewayDeps, 'identify' | 'auth' | 'app' | 'cors'>;

/** @throws Error when the project's `auth` cannot be loaded: nobody may be let in unasked */
export async function projectGate({ graphConfig }: Config, log: Logger): Promise<ProjectGate> {
  if (graphConfig === null) return { identify: identifyEverybody };
  const { loadProjectHttp } = await import('../engine/project/http-exports.js');
  const { auth, app, cors } = await loadProjectHttp(graphConfig, liveEnvironment(), (what) =>
    log.error(what),
  );
  return {
    identify: auth === undefined ? identifyEverybody : identifyBy(auth, log),
    ...(auth !== undefined && { auth }),
    ...(app !== undefined && { app: guarded(app) }),
    ...(cors !== undefined && { cors }),
  };
}

/** A stray exception of the project's routes is told as one of a graph: logged, and the process goes on. */
const guarded = (app: ProjectApp): ProjectApp => ({
  fetch: (request) =>
    runContext.run({ graph: 'http.app', fail: () => undefined }, () => app.fetch(request)),
  ...(app.notFound && { notFound: (handler) => app.notFound?.(handler) }),
});
