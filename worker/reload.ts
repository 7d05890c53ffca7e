/** In `everthread dev`: a saved file of the project is served from the next turn on; turns that run end on the old one. */
import path from 'node:path';
import { watch } from 'chokidar';
import type { Logger } from 'pino';
import { liveEnvironment } from '../config/env.js';
import { loadProject } from '../engine/project/load-project.js';
import type { LoadedGraph } from '../engine/project/types.js';

/** An editor that saves several files, or one in several writes, causes one loading. */
const settleMs = 100;

const sources = new Set('.ts .mts .cts .tsx .jsx .js .mjs .cjs .json'.split(' '));

export interface Reloading {
  close(): Promise<void>;
}

export interface Reloaded {
  /** The langgraph.json. */
  readonly file: string;
  /** Served from here; a graph in it is replaced, never changed. */
  readonly graphs: Map<string, LoadedGraph>;
  readonly log: Logger;
}

export function reloadOnSave(served: Reloaded): Reloading {
  const folder = path.dirname(path.resolve(served.file));
  const watcher = watch(folder, {
    ignoreInitial: true,
    ignored: (file, stats) => isIgnored(path.relative(folder, file), stats?.isFile() === true),
  });
  let timer: NodeJS.Timeout | undefined;
  let loading = 0;
  let last = Promise.resolve();
  watcher.on('all', () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      loading += 1;
      const which = loading;
      last = last.then(() => load(served, which));
    }, settleMs);
  });
  watcher.on('error', (error) => served.log.warn({ err: error }, 'cannot watch the project'));
  return {
    async close() {
      clearTimeout(timer);
      await watcher.close();
      await last;
    },
  };
}

const isIgnored = (file: string, isFile: boolean): boolean =>
  file.split(path.sep).some((part) => part === 'node_modules' || /^\.[^.]/.test(part)) ||
  (isFile && !sources.has(path.extname(file)));

/** What does not load leaves what is served as it is. */
async function load({ file, graphs, log }: Reloaded, loading: number): Promise<void> {
  try {
    const project = await loadProject(file, {
      env: liveEnvironment(),
      // Threads of the pool have loaded theirs for good.
      only: ({ name, isolation }) => isolation !== 'thread' && graphs.has(name),
      loading,
    });
    for (const { message } of project.failures)
      log.error(`${message} The graph is served as it was.`);
    for (const [name, graph] of project.graphs) graphs.set(name, graph);
    const reloaded = [...project.graphs.keys()];
    if (reloaded.length > 0)
      log.info({ graphs: reloaded }, 'loaded again; the next turns run the new code');
  } catch (error) {
    log.error({ err: error }, 'the project could not be loaded again; it is served as it was');
  }
}
