/** Runs in a thread of the pool: loads the project once, then one turn at a time from its latest checkpoint to its next stop. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { liveEnvironment } from '../../config/env.js';
import { drainSwitch } from '../../engine/drain-switch.js';
import type { GraphRun, Stop } from '../../engine/port.js';
import { loadProject } from '../../engine/project/load-project.js';
import type { LoadedGraph } from '../../engine/project/types.js';
import { runToStop } from '../../engine/run-to-stop.js';
import { makeGraphStore } from '../../storage/graph-store/store-class.js';
import { openAttemptFrom } from '../../storage/saver/attempt.js';
import { HeadCache } from '../../storage/saver/head-cache.js';
import type { Attempt } from '../../storage/saver/port.js';
import { loadProjectStore } from '../project-store.js';
import { compact, type Job, type JobEnd, type MainSide, talk, type ThreadSide } from './sides.js';
import type { ThreadData } from './thread-pool.js';
import { thrownOf } from './thrown.js';

/** The pool hands over what `workerData` was at the start. */
const { graphConfig } = workerData as ThreadData;
const project = loadProject(graphConfig, {
  env: liveEnvironment(),
  only: ({ isolation }) => isolation === 'thread',
});
project.catch(() => undefined); // each job says so
const projectStore = project.then(() => loadProjectStore(graphConfig));
projectStore.catch(() => undefined);

const heads = new HeadCache();

/** Ends the run that a stray callback belongs to, as if its node had thrown. */
const current = new AsyncLocalStorage<(error: unknown) => void>();
/** What belongs to no turn is told to the main thread's log. */
const tell = (error: unknown): void => parentPort?.postMessage(thrownOf(error));
process.on('uncaughtException', (error) => (current.getStore() ?? tell)(error));
process.on('unhandledRejection', tell);

export async function runJob({ job, port }: { job: Job; port: MessagePort }): Promise<void> {
  const stopper = new AbortController();
  const drain = drainSwitch();
  const main = talk<MainSide, ThreadSide>(port, {
    abort: () => stopper.abort(),
    drain: () => drain.request(),
  });
  void main.taken.asEvent();
  try {
    const graph = await graphOf(job.graph);
    const attempt = await openAttemptFrom(
      { reads: main, heads },
      {
        ...job.saver,
        turn: job.turn,
        checkpoint: graph.modules.checkpoint,
        writerVersion: graph.modules.versions.langgraph,
        flush: (_claim, rows) => main.flush(compact(rows)),
      },
    );
    const store = makeGraphStore(graph.modules.checkpoint, {
      index: (await projectStore).index,
      batch: (ops) => main.store(ops),
    });
    const run: GraphRun = {
      ...job.run,
      ...(store !== undefined && { store }),
      ...{ graph, attempt, drain },
      signal: stopper.signal,
      heldThread: true,
      emit: (frame) => void main.frame.asEvent(frame),
      ...(job.told && { tell: (event) => void main.tell.asEvent(event) }),
      onBegin: () => void main.began.asEvent(),
    };
    void main.ended.asEvent(await endOf(attempt, await runUncaught(run)));
  } finally {
    port.close();
  }
}

async function graphOf(name: string): Promise<LoadedGraph> {
  const { graphs, failures } = await project;
  const graph = graphs.get(name);
  if (graph !== undefined) return graph;
  throw new Error(failures.find((f) => f.name === name)?.message ?? `there is no graph "${name}"`);
}

const runUncaught = (run: GraphRun): Promise<Stop> =>
  new Promise((resolve, reject) => {
    const fail = (error: unknown): void => resolve({ kind: 'threw', error });
    current.run(fail, () => runToStop(run)).then(resolve, reject);
  });

async function endOf(attempt: Attempt, stop: Stop): Promise<JobEnd> {
  const headCheckpointId = attempt.headCheckpointId();
  switch (stop.kind) {
    case 'finished':
    case 'interrupted': {
      const rows = compact(await attempt.finish());
      // Not yet committed: a turn that finds another head in the database reads that one.
      attempt.keep();
      return { stop, rows, headCheckpointId };
    }
    case 'threw':
      attempt.drop();
      return {
        stop: { kind: 'threw', thrown: thrownOf(stop.error) },
        rows: null,
        headCheckpointId,
      };
    case 'yielded':
    case 'failed':
    case 'aborted':
      attempt.drop();
      return { stop, rows: null, headCheckpointId };
  }
}
