/**
 * What workflow, worker and gateway agree on over Temporal: ids, names, signal and result types.
 * This file goes into the workflow bundle, so it imports nothing at run time (DESIGN 9).
 */

/** One thread of one tenant. `tenant` is `[A-Za-z0-9_-]{1,64}`, `threadId` is `[A-Za-z0-9._:-]{1,128}`: neither holds `@` (P1). */
export interface ThreadKey {
  readonly tenant: string;
  readonly threadId: string;
}

/** A thread in one database. `store` is the random id of that database, so two databases never share a run (P1). */
export interface StoredThread extends ThreadKey {
  readonly store: string;
}

/** Workflow type, signal, query and search attributes, as they stand in Temporal. */
export const threadWorkflowType = 'thread';
export const turnSignalName = 'turn';
export const threadQueryName = 'thread';
export const tenantAttribute = 'EverthreadTenant';
export const graphAttribute = 'EverthreadGraph';

/** `thread:<tenant>:<thread_id>@<store>` (P1). A thread id may hold `:`, a tenant may not, so the form can be parsed back. */
export const workflowIdOf = ({ tenant, threadId, store }: StoredThread): string =>
  `thread:${tenant}:${threadId}@${store}`;

/** The thread that a workflow id names. @throws Error when the id is not one of ours */
export function threadOf(workflowId: string): StoredThread {
  const found = /^thread:([A-Za-z0-9_-]{1,64}):([A-Za-z0-9._:-]{1,128})@([A-Za-z0-9]+)$/.exec(
    workflowId,
  );
  const [, tenant, threadId, store] = found ?? [];
  if (tenant === undefined || threadId === undefined || store === undefined) {
    throw new Error(
      `"${workflowId}" is not a thread workflow id (thread:<tenant>:<thread>@<store>)`,
    );
  }
  return { tenant, threadId, store };
}

/** The only signal there is: a wake. It carries ids, never content (P2). `turn_id` is absent in the wake after a delete. */
export interface TurnSignal {
  readonly turn_id?: string;
  readonly seq: number;
}

/** `pending → running → committed | interrupted | failed | cancelled | aborted`; the last five are settled and final (DESIGN 5). */
export type TurnStatus = 'pending' | 'running' | SettledStatus;
export type SettledStatus = 'committed' | 'interrupted' | 'failed' | 'cancelled' | 'aborted';

/** One finished superstep of a turn as the Web UI shows it: node names and duration, never content. */
export interface StepSummary {
  readonly nodes: readonly string[];
  readonly ms: number;
}

/** What `runTurn` heartbeats: where the turn is. */
export interface TurnProgress {
  readonly seq: number;
  readonly step: number;
  readonly nodes: readonly string[];
}

export interface RunTurnInput {
  readonly thread: StoredThread;
}

/**
 * What one `runTurn` did (P2). `settledThrough` and `more` are read in the settling transaction:
 * earliest unsettled seq - 1, else next_seq - 1; `more` says that an unsettled turn exists.
 */
/** A task queue that is not the workflow's own: where a thread's next `runTurn` goes (Q1). */
export interface Place {
  /** As Temporal knows it. */
  readonly queue: string;
  /** When no worker of that queue has taken the turn after this, the workflow's own queue is asked again. */
  readonly waitMs: number;
}

export interface RunTurnResult {
  /** `elsewhere`: nothing was claimed, since the thread's graph lives on another task queue. */
  readonly status: SettledStatus | 'yielded' | 'idle' | 'elsewhere';
  readonly seq?: number;
  readonly steps?: readonly StepSummary[];
  readonly settledThrough: number;
  readonly more: boolean;
  /** The thread is deleted: the run ends unless a wake has come since (P8). */
  readonly deleted?: boolean;
  /** How long an idle run stays before it hibernates; null means for ever. From the worker's settings, since a workflow has none. */
  readonly idleMs: number | null;
  /** When the run is long and continues as new. In the result, so that stored histories and older builds keep to their own. */
  readonly limit?: RunLimit;
  /** Where the next `runTurn` goes; absent: the workflow's own queue. From the worker, since a workflow has no settings. */
  readonly place?: Place;
}

/** How long one run's history gets. */
export interface RunLimit {
  readonly turns: number;
  readonly events: number;
  readonly signals: number;
}

/** The one activity of a thread workflow. */
export interface ThreadActivities {
  runTurn(input: RunTurnInput): Promise<RunTurnResult>;
}

/** What the query `thread` answers. */
export interface ThreadView {
  readonly settledThrough: number;
  readonly target: number;
  readonly inFlight: boolean;
}
