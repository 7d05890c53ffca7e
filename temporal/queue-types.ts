/** Kinds of task queue, `TaskQueueType` of the server's API. */
import type { WorkflowService } from '@temporalio/client';

type QueueType = NonNullable<Parameters<WorkflowService['describeTaskQueue']>[0]['taskQueueType']>;

/* eslint-disable @typescript-eslint/no-unsafe-enum-assignment -- the enum's package has no export that an ES module can name */
export const workflowQueue = 1 as QueueType;
export const activityQueue = 2 as QueueType;
/* eslint-enable @typescript-eslint/no-unsafe-enum-assignment */
