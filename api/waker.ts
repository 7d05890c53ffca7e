/** Waking the workflow of a thread: the only thing the gateway asks of Temporal. */
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import {
  defineSearchAttributeKey,
  SearchAttributeType,
  type SearchAttributePair,
} from '@temporalio/common';
import {
  graphAttribute,
  tenantAttribute,
  type ThreadKey,
  threadWorkflowType,
  type TurnSignal,
  turnSignalName,
  workflowIdOf,
} from '../contracts/protocol.js';

export interface TurnWake {
  readonly thread: ThreadKey;
  /** Absent in the wake after a delete (P8). */
  readonly turnId?: string;
  readonly seq: number;
  readonly graph?: string;
}

/**
 * Tells a thread's workflow that there is something to look at (P2). A wake may be repeated, late or lost: the database
 * knows what is to do, and the sweeper wakes again.
 */
export interface Waker {
  /** @param options.start opens a run when none is open; without it a missing run is fine. @throws when Temporal does not take it */
  wake(turn: TurnWake, options: { readonly start: boolean }): Promise<void>;
}

/** Longer than a slow server takes, short enough for a client to be told 202 while it still listens. */
const wakeDeadlineMs = 5_000;

const tenantKey = defineSearchAttributeKey(tenantAttribute, SearchAttributeType.KEYWORD);
const graphKey = defineSearchAttributeKey(graphAttribute, SearchAttributeType.KEYWORD);

export function temporalWaker(
  client: Client,
  options: {
    readonly taskQueue: string;
    readonly store: string;
    /** The namespace knows our search attributes. */
    readonly searchAttributes: boolean;
  },
): Waker {
  const start = async (turn: TurnWake, signal: TurnSignal): Promise<void> => {
    const { tenant, threadId } = turn.thread;
    // No time-outs and no arguments: a thread lives as long as it likes and knows itself by its id (P1).
    await client.workflow.signalWithStart(threadWorkflowType, {
      workflowId: workflowIdOf({ ...turn.thread, store: options.store }),
      taskQueue: options.taskQueue,
      args: [],
      signal: turnSignalName,
      signalArgs: [signal],
      staticSummary: `thread ${threadId} of ${tenant}`,
      ...(options.searchAttributes && { typedSearchAttributes: attributesOf(turn) }),
    });
  };
  const signalOnly = async (turn: TurnWake, signal: TurnSignal): Promise<void> => {
    const id = workflowIdOf({ ...turn.thread, store: options.store });
    try {
      await client.workflow.getHandle(id).signal(turnSignalName, signal);
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  };
  return {
    wake: (turn, { start: mayStart }) => {
      const signal: TurnSignal = {
        ...(turn.turnId !== undefined && { turn_id: turn.turnId }),
        seq: turn.seq,
      };
      return client.withDeadline(Date.now() + wakeDeadlineMs, () =>
        mayStart ? start(turn, signal) : signalOnly(turn, signal),
      );
    },
  };
}

const attributesOf = ({ thread, graph }: TurnWake): SearchAttributePair[] => [
  { key: tenantKey, value: thread.tenant },
  ...(graph === undefined ? [] : [{ key: graphKey, value: graph }]),
];
