/** What a process held when it was killed, given free by the only one that can come after it. */
import type { Client } from '@temporalio/client';

/**
 * Frees a run from the queue of a worker that died: Temporal would wait two seconds for it. No open run, or a Temporal
 * that is away, is no error: the wake that follows says so.
 */
export async function freeSticky(client: Client, workflowId: string): Promise<void> {
  const { namespace } = client.options;
  try {
    await client.workflowService.resetStickyTaskQueue({ namespace, execution: { workflowId } });
  } catch {
    // See above.
  }
}

/**
 * Fails the try that each started activity of the run is in, so that Temporal retries at once what it would call lost after
 * a heartbeat time-out. Only before this process polls, and only where no other can: each of them is then a dead worker's.
 * A try that goes on in spite of it can commit nothing (P4).
 */
export async function freeStarted(client: Client, workflowId: string): Promise<void> {
  try {
    const { runId, raw } = await client.workflow.getHandle(workflowId).describe();
    for (const { activityId } of raw.pendingActivities ?? [])
      if (activityId)
        await client.activity.fail({ workflowId, runId, activityId }, new Error(killed));
  } catch {
    // No run, no such try any more, one that waits for its next (the server fails only what has started): nothing is held.
  }
}

/** Seen in the Web UI as the failure of the try. */
const killed =
  'The worker that ran this was killed; the next one gave the turn free when it started.';
