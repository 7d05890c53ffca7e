/** What a worker asks of the database: claim a turn, write its unfinished work, settle it (P3, P4). Part of the storage port. */
import type { Draft } from '../contracts/frames.js';
import type { Failure, FailureCode } from '../contracts/failure.js';
import type { TranscriptMessage, TurnInterrupt, Usage } from '../contracts/http.schema.js';
import type { SettledStatus, StoredThread, ThreadKey, TurnStatus } from '../contracts/protocol.js';
import type { ModeSet } from '../contracts/stream-modes.js';
import type { TurnInput } from '../contracts/turn-input.js';
import type { FlushRows } from './saver/port.js';

/** Who claims: activity ids of a run are numbers that grow (P3). */
export interface Holder {
  readonly runId: string;
  readonly activityId: number;
  readonly attempt: number;
  /** Of the worker; absent when it has none. */
  readonly buildId?: string;
}

/** The right to write one turn, until a higher fence exists. */
export interface Claim {
  readonly thread: ThreadKey;
  readonly epoch: number;
  readonly seq: number;
  readonly turnId: string;
  readonly fence: number;
}

/** Read in the same transaction as what it follows (P2). */
export interface Progress {
  readonly settledThrough: number;
  readonly more: boolean;
  readonly deleted: boolean;
}

/** What the claimed turn is about. */
export interface ClaimedTurn {
  readonly claim: Claim;
  readonly graph: string;
  readonly input: TurnInput;
  readonly stream: boolean;
  readonly modes: ModeSet;
  readonly baseVersion: number;
  /** The head that the turn stands on (P5); null in a new thread. */
  readonly head: { readonly checkpointId: string; readonly seq: number } | null;
  /** The head is an earlier version's: what came after it is not of this turn's past. */
  readonly forks: boolean;
  /** What that earlier version asks; absent when it waits for nobody. */
  readonly waits?: readonly TurnInterrupt[];
  /** Finished, flushed supersteps of this turn. */
  readonly step: number;
  /** The head is interrupted and this is a plain turn: dangling tool calls are closed first (P7). Also after `interrupt` (P6). */
  readonly closeDangling: boolean;
  /** Time under claim that is left before the deadline. */
  readonly leftMs: number;
  /** Time since it was accepted, by the database's clock. */
  readonly waitedMs: number;
  /** Any row of this turn exists: an earlier attempt flushed (P5). */
  readonly hasRows: boolean;
  /** Names of the tasks that were pending at this turn's last flush; null before the first (P11). */
  readonly pendingNodes: readonly string[] | null;
  /** Nodes that ran in the superstep before this turn's last flush (P11). */
  readonly ranNodes: readonly string[] | null;
}

export type Claimed =
  | { readonly kind: 'claimed'; readonly turn: ClaimedTurn }
  | { readonly kind: 'idle'; readonly after: Progress }
  /** The turn's graph may not run here (`ClaimLimits.here`): nothing was claimed. */
  | { readonly kind: 'elsewhere'; readonly graph: string; readonly after: Progress }
  /** A later activity or attempt of the same run holds the turn (P3): this one is a zombie. */
  | { readonly kind: 'refused' }
  /** Settled in the claiming transaction: poison, deadline, resume_stale, base_changed, thread_interrupted. */
  | {
      readonly kind: 'failed';
      readonly claim: Claim;
      readonly code: FailureCode;
      readonly after: Progress;
    };

export interface ClaimLimits {
  /** Longest time under claim. */
  readonly turnTimeoutMs: number;
  /** Workers lost within one superstep before the turn is poison. */
  readonly maxLosses: number;
  /** Whether a graph runs where the claimer stands (Q1); every graph does when absent. */
  readonly here?: (graph: string) => boolean;
}

export type Settlement =
  | {
      readonly kind: 'committed' | 'interrupted';
      /** Checkpoint id of the new head. */
      readonly checkpointId: string;
      readonly response: string;
      readonly messages: readonly TranscriptMessage[];
      /** JSON object of the other channels. */
      readonly valuesJson: string;
      readonly interrupts: readonly TurnInterrupt[];
      readonly next: readonly string[];
      readonly usage?: Usage;
    }
  | { readonly kind: 'failed'; readonly failure: Failure };

export type Settled =
  | {
      readonly kind: 'settled';
      readonly status: SettledStatus;
      readonly version: number;
      readonly after: Progress;
    }
  /** Somebody else settled the turn first (cancel, delete, an earlier commit of ours): its status holds. */
  | { readonly kind: 'settled_before'; readonly status: SettledStatus; readonly after: Progress }
  /** A higher fence exists and the turn is not settled: write nothing more, retry. */
  | { readonly kind: 'fence_lost' };

export type Flushed = { readonly kind: 'flushed' } | Exclude<Settled, { readonly kind: 'settled' }>;

/** What a worker sees of its claims twice a second: has the fence moved, does somebody listen (P6, DESIGN 15.2). */
export interface ClaimLook {
  readonly fence: number;
  readonly status: TurnStatus;
  readonly stream: boolean;
  readonly modes: ModeSet;
}

export interface ClaimStore {
  /** P3: takes the earliest unsettled turn; records the run for P8. */
  claim(thread: StoredThread, holder: Holder, limits: ClaimLimits): Promise<Claimed>;
  /** P4: writes rows of unfinished work. `step` and `pendingNodes` move with a finished superstep. */
  flush(claim: Claim, rows: FlushRows): Promise<Flushed>;
  /** The last rows, the reply, version + 1, status and head in one transaction. @throws CommitUnknown, Unstorable */
  settle(claim: Claim, settlement: Settlement, rows: FlushRows | null): Promise<Settled>;
  /** P3: "settled with my fence" proves an unknown COMMIT; `unsettled` with my fence proves that it did not happen. Takes the thread lock. */
  lookUp(claim: Claim): Promise<Settled | { readonly kind: 'unsettled' }>;
  /** Counts a failed try; at the limit the turn settles `failed` in the same transaction. */
  failTry(
    claim: Claim,
    failure: Failure,
    maxTries: number,
  ): Promise<Settled | { readonly kind: 'retry'; readonly tries: number }>;
  /** Releases the claim without a loss: another worker goes on (yield, drain). */
  yield(claim: Claim): Promise<Flushed>;
  look(claims: readonly Claim[]): Promise<ReadonlyMap<string, ClaimLook>>;
  /** Drafts of several turns at once; stale fences write nothing. */
  saveDrafts(drafts: readonly { readonly claim: Claim; readonly draft: Draft }[]): Promise<void>;
  /** Takes threads whose earliest unsettled turn shows no sign of life for `quietMs`, doubling their pause (sweeper). */
  takeQuiet(
    quietMs: number,
    limit: number,
  ): Promise<
    readonly { readonly thread: ThreadKey; readonly seq: number; readonly graph: string }[]
  >;
}
