/** Who asks task queues for tasks, without those that are gone. */
import type { WorkflowService } from '@temporalio/client';

type Described = Awaited<ReturnType<WorkflowService['describeTaskQueue']>>;
export type Poller = Described['pollers'][number];

/** A poll waits a minute for a task, and the time of its begin is all that the server tells; a killed worker stays this long. */
const pollMs = 70_000;

/** @returns what tells whether a poller is still there */
export async function livePollers(
  service: WorkflowService,
  namespace: string,
): Promise<(poller: Poller) => boolean> {
  const stopped = await stoppedWorkers(service, namespace);
  return ({ identity, lastAccessTime }) => {
    const atMs = msOf(lastAccessTime);
    return Date.now() - atMs <= pollMs && (stopped.get(identity ?? '') ?? 0) < atMs;
  };
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
