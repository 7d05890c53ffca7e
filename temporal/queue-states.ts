/** Which task queues somebody serves, and how much waits there: a turn on a queue without a worker waits in silence (Q3). */
import type { WorkflowService } from '@temporalio/client';
import { mainQueue, taskQueueOf, type QueueState } from '../contracts/task-queues.js';
import type { TemporalLink } from './connection.js';
import { livePollers } from './pollers.js';
import { activityQueue, workflowQueue } from './queue-types.js';

export interface ProjectQueues {
  /** What Temporal knows the main queue by. */
  readonly taskQueue: string;
  /** Short name of the queue of each graph that does not live on the main one. */
  readonly places: ReadonlyMap<string, string>;
}

const queueNames = ({ places }: ProjectQueues): readonly string[] => [
  mainQueue,
  ...new Set(places.values()),
];

/** Asks the server, the main queue first. */
export async function queueStates(
  service: WorkflowService,
  namespace: string,
  queues: ProjectQueues,
): Promise<readonly QueueState[]> {
  const describe = (taskQueue: string, taskQueueType: typeof activityQueue) =>
    service.describeTaskQueue({
      ...{ namespace, taskQueue: { name: taskQueue } },
      ...{ taskQueueType, reportStats: true },
    });
  const isLive = await livePollers(service, namespace);
  return await Promise.all(
    queueNames(queues).map(async (name) => {
      const taskQueue = taskQueueOf(queues.taskQueue, name);
      // Workflows are on the main queue alone; a thread that is new waits there before there is any activity.
      const kinds = name === mainQueue ? [activityQueue, workflowQueue] : [activityQueue];
      const described = await Promise.all(kinds.map((kind) => describe(taskQueue, kind)));
      const pollers = described.flatMap((one) => one.pollers).filter(isLive);
      const waiting = described.map(({ stats }) => Number(stats?.approximateBacklogCount ?? 0));
      return {
        ...{ name, taskQueue },
        workers: new Set(pollers.map(({ identity }) => identity)).size,
        backlog: waiting.reduce((sum, count) => sum + count, 0),
      };
    }),
  );
}

/** What a gateway knows of its queues. */
export interface QueueWatch {
  /** @throws when Temporal does not answer */
  states(): Promise<readonly QueueState[]>;
  /** What Temporal calls the queue of the graph, when no worker asks it for turns; undefined also when Temporal does not answer. */
  unserved(graph: string): Promise<string | undefined>;
}

/**
 * The server asks every partition of a queue and every worker's heartbeat, and a queue is left for minutes before a person acts:
 * one look serves all scrapes and readers of this long. Nobody asks, nothing is looked at.
 */
const freshMs = 15_000;
/** A page that shows numbers, or one thread, does not wait longer. */
const callLimitMs = 1_000;

export function watchQueues(
  link: Pick<TemporalLink, 'call' | 'namespace'>,
  queues: ProjectQueues,
): QueueWatch {
  let looked: Promise<readonly QueueState[]> | undefined;
  let lookedMs = 0;
  const states = (): Promise<readonly QueueState[]> => {
    if (looked !== undefined && performance.now() - lookedMs < freshMs) return looked;
    lookedMs = performance.now();
    looked = link.call(
      (client) => queueStates(client.workflowService, link.namespace, queues),
      callLimitMs,
    );
    return looked;
  };
  return {
    states,
    async unserved(graph) {
      const name = queues.places.get(graph) ?? mainQueue;
      const known = await states().catch(() => []);
      return known.find((queue) => queue.name === name && queue.workers === 0)?.taskQueue;
    },
  };
}
