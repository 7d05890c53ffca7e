/** Who asks for tasks, build by build. */
import type { WorkflowService } from '@temporalio/client';
import { activityQueue, workflowQueue } from './queue-types.js';

/** One process that asks for tasks. */
export interface Worker {
  /** `pid@host`, as the SDK names it. */
  readonly identity: string;
  /** Null: it is unversioned. */
  readonly buildId: string | null;
}

interface Asked {
  readonly namespace: string;
  readonly deploymentName: string;
  readonly versions: readonly { readonly buildId: string; readonly status: string }[];
  readonly queues: readonly string[];
}

/** `WORKER_VERSIONING_MODE_VERSIONED`. */
const versionedMode = 2;
/** A poll waits a minute for a task, and the time of its begin is all that the server tells; a killed worker stays this long. */
const pollMs = 70_000;
/** A drained version's queues are those of a version that is still used, or nobody's; there may be a hundred of them. */
const isUsed = ({ status }: { readonly status: string }): boolean => status !== 'drained';

export async function workersOf(service: WorkflowService, asked: Asked): Promise<Worker[]> {
  const { namespace, deploymentName } = asked;
  const described = await Promise.all(
    asked.versions.filter(isUsed).map(({ buildId }) =>
      service.describeWorkerDeploymentVersion({
        namespace,
        deploymentVersion: { deploymentName, buildId },
      }),
    ),
  );
  const seen = described.flatMap(({ versionTaskQueues }) => versionTaskQueues);
  const names = new Set([...asked.queues, ...seen.map(({ name }) => name ?? '')]);
  const [stopped, ...queues] = await Promise.all([
    stoppedWorkers(service, namespace),
    ...[...names].flatMap((name) =>
      [workflowQueue, activityQueue].map((taskQueueType) =>
        service.describeTaskQueue({ namespace, taskQueue: { name }, taskQueueType }),
      ),
    ),
  ]);
  const workers = new Map<string, Worker>();
  for (const poller of queues.flatMap(({ pollers }) => pollers)) {
    const { deploymentOptions: of } = poller;
    const identity = poller.identity ?? '';
    const atMs = msOf(poller.lastAccessTime);
    if (Date.now() - atMs > pollMs || (stopped.get(identity) ?? 0) >= atMs) continue;
    const versioned = Number(of?.workerVersioningMode) === versionedMode;
    if (versioned && of?.deploymentName !== deploymentName) continue;
    // The build id of an unversioned worker is its SDK's.
    const buildId = versioned ? (of?.buildId ?? null) : null;
    workers.set(`${identity} ${buildId ?? ''}`, { identity, buildId });
  }
  return [...workers.values()];
}

/** `WORKER_STATUS_SHUTTING_DOWN` and `…_SHUTDOWN` of the server's API. */
const stopping: ReadonlySet<number> = new Set([2, 3]);

/** Workers that have said that they stop, and when; what the server does not tell is left to the time of the last poll. */
async function stoppedWorkers(
  service: WorkflowService,
  namespace: string,
): Promise<ReadonlyMap<string, number>> {
  try {
    const { workersInfo } = await service.listWorkers({ namespace, pageSize: 1_000 });
    const beats = workersInfo.flatMap(({ workerHeartbeat: beat }) => (beat ? [beat] : []));
    return new Map(
      beats
        .filter(({ status }) => stopping.has(Number(status)))
        .map((beat) => [beat.workerIdentity ?? '', msOf(beat.heartbeatTime)]),
    );
  } catch {
    return new Map(); // before 1.31 there are no heartbeats of workers
  }
}

const msOf = (time: { seconds?: unknown; nanos?: number | null } | null | undefined): number =>
  Number(time?.seconds ?? 0) * 1_000 + (time?.nanos ?? 0) / 1e6;
