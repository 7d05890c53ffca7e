/** What an operator and the sweeper ask about the workflow runs of threads, each named by its run id. */
import type { Client } from '@temporalio/client';
import { workflowIdOf } from '../contracts/protocol.js';
import type { ThreadKey } from '../contracts/protocol.js';
import type { TemporalLink } from './connection.js';
import { grpcCode, grpcCodeOf } from './errors.js';

export interface ThreadRuns {
  /** Whether a run of the thread is open. */
  isOpen(thread: ThreadKey): Promise<boolean>;
  /**
   * Erases the history of one run, and it from the list of runs (P8). Only a closed one: the server would terminate an open one,
   * which may be the next epoch's. @returns `open` when it was left alone; `erased` also when it was not there
   */
  erase(thread: ThreadKey, runId: string): Promise<'erased' | 'open'>;
}

/** `WORKFLOW_EXECUTION_STATUS_RUNNING` of the server's API. */
const running = 1;

/** @param store the database's id, part of every workflow id (P1) */
export function threadRuns(link: TemporalLink, store: string): ThreadRuns {
  const { namespace } = link;
  const isOpen = async (client: Client, thread: ThreadKey, runId?: string): Promise<boolean> => {
    const workflowId = workflowIdOf({ ...thread, store });
    const execution = { workflowId, ...(runId !== undefined && { runId }) };
    try {
      const found = await client.workflowService.describeWorkflowExecution({
        namespace,
        execution,
      });
      return Number(found.workflowExecutionInfo?.status) === running;
    } catch (error) {
      if (grpcCodeOf(error) === grpcCode.notFound) return false;
      throw error;
    }
  };
  return {
    isOpen: (thread) => link.call((client) => isOpen(client, thread)),
    erase: (thread, runId) =>
      link.call(async (client) => {
        if (await isOpen(client, thread, runId)) return 'open';
        const workflowExecution = { workflowId: workflowIdOf({ ...thread, store }), runId };
        try {
          await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution });
        } catch (error) {
          if (grpcCodeOf(error) !== grpcCode.notFound) throw error;
        }
        return 'erased';
      }),
  };
}
