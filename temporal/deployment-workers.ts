/** Who asks for tasks, build by build. */
import type { WorkflowService } from '@temporalio/client';
import { livePollers } from './pollers.js';
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
  const [isLive, ...queues] = await Promise.all([
    livePollers(service, namespace),
    ...[...names].flatMap((name) =>
      [workflowQueue, activityQueue].map((taskQueueType) =>
        service.describeTaskQueue({ namespace, taskQueue: { name }, taskQueueType }),
      ),
    ),
  ]);
  const workers = new Map<string, Worker>();
  for (const poller of queues.flatMap(({ pollers }) => pollers).filter(isLive)) {
    const { deploymentOptions: of } = poller;
    const identity = poller.identity ?? '';
    const versioned = Number(of?.workerVersioningMode) === versionedMode;
    if (versioned && of?.deploymentName !== deploymentName) continue;
    // The build id of an unversioned worker is its SDK's.
    const buildId = versioned ? (of?.buildId ?? null) : null;
    workers.set(`${identity} ${buildId ?? ''}`, { identity, buildId });
  }
  return [...workers.values()];
}
