/** What an operator and the sweeper ask about the workflow runs of threads, each named by its run id. */
import type { WorkflowService } from '@temporalio/client';
import { workflowIdOf } from '../contracts/protocol.js';
import type { ThreadKey } from '../contracts/protocol.js';
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

/** How calls reach the server. */
export interface RunAccess {
  readonly namespace: string;
  /** Ends a call that is not answered. */
  readonly call: <T>(run: (service: WorkflowService) => Promise<T>) => Promise<T>;
}

/** `WORKFLOW_EXECUTION_STATUS_RUNNING` of the server's API. */
const running = 1;

/** @param store the database's id, part of every workflow id (P1) */
export function threadRuns({ namespace, call }: RunAccess, store: string): ThreadRuns {
  const executionOf = (thread: ThreadKey, runId?: string) => ({
    workflowId: workflowIdOf({ ...thread, store }),
    ...(runId !== undefined && { runId }),
  });
  const isOpen = (thread: ThreadKey, runId?: string): Promise<boolean> =>
    call(async (service) => {
      const execution = executionOf(thread, runId);
      try {
        const found = await service.describeWorkflowExecution({ namespace, execution });
        return Number(found.workflowExecutionInfo?.status) === running;
      } catch (error) {
        if (grpcCodeOf(error) === grpcCode.notFound) return false;
        throw error;
      }
    });
  return {
    isOpen,
    erase: async (thread, runId) => {
      if (await isOpen(thread, runId)) return 'open';
      const workflowExecution = executionOf(thread, runId);
      await call(async (service) => {
        try {
          await service.deleteWorkflowExecution({ namespace, workflowExecution });
        } catch (error) {
          if (grpcCodeOf(error) !== grpcCode.notFound) throw error;
        }
      });
      return 'erased';
    },
  };
}
