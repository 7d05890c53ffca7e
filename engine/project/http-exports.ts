/** What a project's `auth` and `http` keys name, loaded for the gateway as graphs are for the worker. */
import { isMainThread } from 'node:worker_threads';
import type { ProjectApp, ProjectAuth, ProjectHttp } from '../../contracts/project-http.js';
import { importGraphExport } from './graph-file.js';
import { readProjectConfig, type ExportPlace } from './project-config.js';
import { applyProjectEnv } from './project-env.js';

/**
 * @param env of this process; the project's variables are added, since its code reads them there
 * @param onTrouble told of an application that cannot be served: the gateway serves without it
 * @throws Error when the project has an `auth` that cannot be loaded: nobody may be let in unasked
 */
export async function loadProjectHttp(
  configPath: string,
  env: NodeJS.ProcessEnv,
  onTrouble: (what: string) => void,
): Promise<ProjectHttp> {
  const config = await readProjectConfig(configPath);
  const { folder, auth: authPlace, app: appPlace, cors } = config;
  if (authPlace !== undefined || appPlace !== undefined) {
    await applyProjectEnv(config, env);
    if (isMainThread) process.chdir(folder);
  }
  const auth = authPlace && (await loadAuth(folder, authPlace));
  const app = appPlace && (await loadApp(folder, appPlace, onTrouble));
  return {
    ...(auth !== undefined && { auth }),
    ...(app !== undefined && { app }),
    ...(cors !== undefined && { cors }),
  };
}

/** The SDK keeps what was declared under this name, in every copy of it. */
const declared = '~handlerCache';

async function loadAuth(folder: string, place: ExportPlace): Promise<ProjectAuth> {
  try {
    const exported = await importGraphExport(folder, { name: 'auth', ...place });
    const cache = isObject(exported) ? exported[declared] : undefined;
    if (!isObject(cache)) throw new Error('it is no Auth of @langchain/langgraph-sdk/auth');
    const { authenticate, callbacks = {} } = cache;
    if (typeof authenticate !== 'function') throw new Error('it declares no authenticate');
    return {
      authenticate: authenticate as ProjectAuth['authenticate'],
      callbacks: callbacks as ProjectAuth['callbacks'],
    };
  } catch (cause) {
    throw new Error(
      `${namedIn('auth.path', place)} could not be loaded: ${reasonOf(cause)}. Without it everybody would be let in, so nothing is served.`,
      { cause },
    );
  }
}

async function loadApp(
  folder: string,
  place: ExportPlace,
  onTrouble: (what: string) => void,
): Promise<ProjectApp | undefined> {
  try {
    const exported = await importGraphExport(folder, { name: 'http.app', ...place });
    if (!isObject(exported) || typeof exported.fetch !== 'function')
      throw new Error('it has no fetch(Request), as an application of Hono has');
    return exported as unknown as ProjectApp;
  } catch (cause) {
    onTrouble(
      `${namedIn('http.app', place)} could not be loaded, and its routes are not served: ${reasonOf(cause)}`,
    );
    return undefined;
  }
}

const namedIn = (key: string, { file, exportName }: ExportPlace): string =>
  `"${key}" of langgraph.json (${file}, export "${exportName}")`;

const reasonOf = (cause: unknown): string =>
  cause instanceof Error ? cause.message : String(cause);

const isObject = (value: unknown): value is Record<string, unknown> =>
  (typeof value === 'object' && value !== null) || typeof value === 'function';
