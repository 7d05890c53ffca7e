/**
 * The saver of one attempt: between LangGraph, which puts checkpoints and writes, and the claim, which flushes them (P4, P5).
 * `engine/` sees `Attempt`; the transactions of `storage/` see `FlushRows`.
 */
import type { BaseCheckpointSaver, Checkpoint } from '@langchain/langgraph-checkpoint';
import type { Claim, ClaimedTurn, Flushed } from '../port.js';

/** One stored checkpoint. Channel values stand beside it as deltas, except small ones. */
export interface CheckpointRow {
  readonly ns: string;
  readonly checkpointId: string;
  /** The stored parent; null for the first of its namespace. */
  readonly parentId: string | null;
  /** Grows within (thread, epoch): "latest" is the highest (P5). */
  readonly pos: number;
  readonly body: Uint8Array;
  readonly metadata: Uint8Array;
}

/**
 * One channel value at one version, as a difference: the first `keep` elements of the version `base`, then `rest`.
 * `base` null means that `rest` is the whole value.
 */
export interface DeltaRow {
  readonly ns: string;
  readonly channel: string;
  readonly version: string;
  readonly base: string | null;
  readonly keep: number;
  readonly length: number;
  readonly type: string;
  readonly rest: Uint8Array;
}

/** One pending write of one task (`putWrites`). */
export interface WriteRow {
  readonly ns: string;
  readonly checkpointId: string;
  readonly taskId: string;
  readonly taskPath: string;
  readonly idx: number;
  readonly channel: string;
  readonly type: string;
  readonly value: Uint8Array;
}

/** What one flush writes, in call order, all namespaces (P5). */
export interface FlushRows {
  readonly checkpoints: readonly CheckpointRow[];
  readonly deltas: readonly DeltaRow[];
  readonly writes: readonly WriteRow[];
  /** A root superstep is finished with these rows: what ran and what runs next (P11). Null for an early flush. */
  readonly superstep: {
    /** Finished supersteps of the turn, earlier attempts' included: the turn's new `step`. */
    readonly finished: number;
    readonly ran: readonly string[];
    readonly next: readonly string[];
  } | null;
}

/** The project's own checkpoint module: the saver subclasses *its* base class and uses *its* serde (DESIGN 4). */
export interface CheckpointModule {
  readonly BaseCheckpointSaver: typeof BaseCheckpointSaver;
  /** Shows the format that the project's LangGraph keeps (pending-sends.ts). */
  readonly emptyCheckpoint?: () => Checkpoint;
}

export interface AttemptOptions {
  readonly turn: ClaimedTurn;
  readonly checkpoint: CheckpointModule;
  /** Version of the project's langgraph, stored beside the bytes that it makes: an older one is not given them. */
  readonly writerVersion: string;
  /** Writes under the claim; anything but `flushed` ends the run. */
  readonly flush: (claim: Claim, rows: FlushRows) => Promise<Flushed>;
  /** A first superstep of a resume is not flushed before it ends (P5). */
  readonly hold: boolean;
  /** Compares full serialisations of what is stored by reference, and throws on a difference: for tests. O(history). */
  readonly verify?: boolean;
}

/** A finished superstep of the root graph. */
export interface FinishedStep {
  /** Finished supersteps of the turn, this one included; earlier attempts count. */
  readonly step: number;
  readonly nodes: readonly string[];
}

export interface Attempt {
  /** Passed to LangGraph per call; fence and epoch travel with it. */
  readonly saver: BaseCheckpointSaver;
  /** An earlier attempt of this turn flushed rows: run on with `null` (P5). */
  readonly hasRows: boolean;
  /** LangGraph's version that wrote the newest checkpoint; null in a new thread, or when this process wrote it. */
  readonly writtenBy: string | null;
  /** Channel values at the head this turn stands on; undefined in a new thread. Shared: not to be changed. */
  baseValues(): Promise<Readonly<Record<string, unknown>> | undefined>;
  /**
   * Set before the run: which nodes follow a root checkpoint. A superstep that something follows is flushed before
   * the next one starts; the last one stays buffered for the settling transaction.
   */
  successors: (checkpoint: Checkpoint) => readonly string[];
  onSuperstep: (step: FinishedStep) => void;
  /** A flush was refused or failed: the run must stop. Called at most once. */
  onLost: (outcome: Exclude<Flushed, { readonly kind: 'flushed' }> | Error) => void;
  /** Newest root checkpoint id known to this attempt, flushed or not; null when there is none. */
  headCheckpointId(): string | null;
  /** Waits for flushes in flight and gives what is buffered, for the settling transaction. Later puts are refused. */
  finish(): Promise<FlushRows>;
  /** The attempt's view is committed: keeps it as the thread's cached head for the next turn (same process). */
  keep(): void;
  /** The attempt failed: cached objects may have been changed, so they are dropped. */
  drop(): void;
}
