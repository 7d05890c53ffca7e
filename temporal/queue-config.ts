/** What the Temporal server itself keeps of a task queue: it holds for all workers, at once, and outlives them (Q4, Q5). */
import type { NativeConnection } from '@temporalio/worker';
import { activityQueue } from './queue-types.js';

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
