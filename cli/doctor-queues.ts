/** What `everthread doctor` finds of a project's task queues, where a Temporal answers: who serves them (Q3). */
import { temporalVariables, valueOf, type Environment } from '../config/env.js';
import { usualTaskQueue } from '../config/queues.js';
import { mainQueue, type QueueState } from '../contracts/task-queues.js';
import type { Finding } from '../engine/project/examine.js';
import {
  queuePlaces,
  readProjectConfig,
  type GraphSpec,
} from '../engine/project/project-config.js';
import { temporalFromEnvironment } from '../temporal/environment.js';
import type { ProjectQueues } from '../temporal/queue-states.js';
import type { TemporalSettings } from '../temporal/settings.js';

/** A project that cannot be read is another finding's. */
export async function queueFindings(file: string, env: Environment): Promise<readonly Finding[]> {
  const project = await readProjectConfig(file).catch(() => undefined);
  if (project === undefined) return [];
  const taskQueue = valueOf(env, 'EVERTHREAD_TASK_QUEUE') ?? usualTaskQueue;
  const queues = { taskQueue, places: queuePlaces(project) };
  try {
    const settings = temporalFromEnvironment(temporalVariables(env));
    if (settings === undefined) return [];
    const states = await askTemporal(settings, queues);
    const graphs = Object.values(project.graphs);
    return states.map((state) =>
      findingOf(
        state,
        told(graphs.filter(({ taskQueue: queue = mainQueue }) => queue === state.name)),
      ),
    );
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [{ kind: 'note', about: 'Temporal', what: `its task queues are not known: ${reason}` }];
  }
}

/** The SDK takes a second to load, and a project is examined without it. */
async function askTemporal(
  settings: TemporalSettings,
  queues: ProjectQueues,
): Promise<readonly QueueState[]> {
  const [{ connectTemporal }, { installRuntime }, { queueStates }] = await Promise.all([
    import('../temporal/connection.js'),
    import('../temporal/runtime.js'),
    import('../temporal/queue-states.js'),
  ]);
  installRuntime(() => undefined);
  const connection = await connectTemporal(settings);
  try {
    const { workflowService } = connection.client;
    return await queueStates(workflowService, settings.namespace, queues);
  } finally {
    await connection.close();
  }
}

function findingOf({ name, taskQueue, workers, backlog }: QueueState, graphs: string): Finding {
  const about = `task queue ${taskQueue}`;
  if (workers > 0)
    return { kind: 'works', about, what: `${counted(workers, 'worker')}, ${graphs}` };
  const start = `everthread worker${name === mainQueue ? '' : ` --task-queue ${name}`}`;
  const waits = backlog === 0 ? '' : `; about ${counted(backlog, 'task')} waiting`;
  return { kind: 'note', about, what: `no worker, so turns of ${graphs} wait${waits}: "${start}"` };
}

function told(graphs: readonly Pick<GraphSpec, 'name'>[]): string {
  if (graphs.length === 0) return 'the threads of all graphs'; // workflows live on the main queue, whatever its graphs
  const names = graphs.map(({ name }) => `"${name}"`).join(', ');
  return `${graphs.length === 1 ? 'graph' : 'graphs'} ${names}`;
}

const counted = (count: number, what: string): string =>
  `${count} ${count === 1 ? what : `${what}s`}`;
