/** What the Temporal server itself keeps of a task queue: it holds for all workers, at once, and outlives them (Q4, Q5). */
import type { NativeConnection } from '@temporalio/worker';

type UpdateConfig = NativeConnection['workflowService']['updateTaskQueueConfig'];
type QueueType = NonNullable<Parameters<UpdateConfig>[0]['taskQueueType']>;

/** Of Temporal's enum TaskQueueType; its package has no export that an ES module can name. */
// eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment
export const activityQueue = 2 as QueueType;

export interface QueueSetting {
  /** As Temporal knows it. */
  readonly taskQueue: string;
  /** Most turns given out in a second; null takes the limit away. */
  readonly perSecond?: number | null;
  /** By tenant; null gives back the usual weight, 1. */
  readonly weights?: Readonly<Record<string, number | null>>;
}

export async function setQueue(
  { workflowService }: Pick<NativeConnection, 'workflowService'>,
  namespace: string,
  { taskQueue, perSecond, weights = {} }: QueueSetting,
): Promise<void> {
  const given = Object.entries(weights);
  await workflowService.updateTaskQueueConfig({
    namespace,
    taskQueue,
    taskQueueType: activityQueue,
    ...(perSecond !== undefined && {
      updateQueueRateLimit: {
        ...(perSecond !== null && { rateLimit: { requestsPerSecond: perSecond } }),
        reason: 'everthread setup',
      },
    }),
    setFairnessWeightOverrides: Object.fromEntries(
      given.flatMap(([tenant, weight]) => (weight === null ? [] : [[tenant, weight]])),
    ),
    unsetFairnessWeightOverrides: given.flatMap(([tenant, w]) => (w === null ? [tenant] : [])),
  });
}
