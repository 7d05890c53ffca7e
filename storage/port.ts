/**
 * The storage port: what gateway and worker may ask of the database (DESIGN 8). Three backends keep it: `memory`,
 * `sqlite`, `postgres`; one contract suite runs on all of them. Every method is one transaction.
 * A refusal that a caller must handle is a case of a union; a database that is down throws `StorageUnavailable`.
 */
import type { Draft } from '../contracts/frames.js';
import type { Failure, FailureCode } from '../contracts/failure.js';
import type { TranscriptMessage, TurnInterrupt, Usage } from '../contracts/http.schema.js';
import type { ModeSet } from '../contracts/stream-modes.js';
import type { SpokenTrace } from '../contracts/text-trace.js';
import type { SettledStatus, StoredThread, ThreadKey, TurnStatus } from '../contracts/protocol.js';
import type { TurnInput } from '../contracts/turn-input.js';
import type { FactVectors, MemoryStore } from '../memory/store.js';
import type { Accepted, AcceptTurn } from './accept-port.js';
import type { ErasureStore } from './erasure-port.js';
import type { ListThreads, OpenTurn, OpenTurnCount, ThreadPage } from './list-port.js';
import type { GraphStoreRows } from './graph-store/port.js';
import type { Attempt, AttemptOptions, FlushRows } from './saver/port.js';
import type { AttemptReads } from './saver/reads.js';
import type { ChannelView, HistoryEntry, StateView } from './state-port.js';

export type StorageKind = 'memory' | 'sqlite' | 'postgres';

/** The database cannot be reached or does not answer in time. Nothing is half-written; the caller answers 503 or tries again. */
export class StorageUnavailable extends Error {
  override readonly name = 'StorageUnavailable';
}
/** COMMIT was sent and its outcome is unknown: the caller looks it up (P3, P9). */
export class CommitUnknown extends Error {
  override readonly name = 'CommitUnknown';
}
/** The schema is not migrated, newer than this build, or altered. The message says which, and what to do. */
export class SchemaMismatch extends Error {
  override readonly name = 'SchemaMismatch';
}
/** The values themselves cannot be stored (SQLSTATE class 22 or 23): no retry helps. */
export class Unstorable extends Error {
  override readonly name = 'Unstorable';
}

export interface Storage {
  readonly kind: StorageKind;
  /** Random id of this database (P1). */
  readonly store: string;
  readonly turns: TurnStore;
  readonly threads: ThreadStore;
  readonly claims: ClaimStore;
  readonly erasure: ErasureStore;
  /** Long-term memory of users. It belongs to no thread: deleting one leaves it. */
  readonly memory: MemoryStore & FactVectors;
  /** Items of graphs' own stores. They belong to namespaces: deleting a thread leaves them. */
  readonly graphStore: GraphStoreRows;
  /** Opens the saver of one attempt (P5). */
  openAttempt(options: AttemptOptions): Promise<Attempt>;
  /** What an attempt reads, for a saver that stands in another thread. */
  attemptReads(turn: ClaimedTurn): AttemptReads;
  /** Answers when the primary answers. @throws StorageUnavailable */
  ping(): Promise<void>;
  close(): Promise<void>;
}

// --- gateway: turns ---------------------------------------------------------------------------

export type Multitask = 'enqueue' | 'reject' | 'interrupt' | 'rollback';

export type { TurnInput } from '../contracts/turn-input.js';
export type { AcceptTurn, Accepted, MovedTurn } from './accept-port.js';

/** One turn's row. JSON columns come as stored text, so a replay is the same bytes. */
export interface TurnRecord {
  readonly thread: ThreadKey;
  readonly turnId: string;
  readonly epoch: number;
  readonly seq: number;
  readonly status: TurnStatus;
  readonly graph: string;
  readonly fence: number;
  /** Finished supersteps that are flushed. */
  readonly step: number;
  /** Version that the turn stands on; null before its first claim. */
  readonly baseVersion: number | null;
  /** Version after the turn; null unless it advanced the head. */
  readonly version: number | null;
  readonly response: string;
  /** This turn's messages: JSON array of `TranscriptMessage`. */
  readonly messagesJson: string | null;
  /** The other channels whole: JSON object. */
  readonly valuesJson: string | null;
  readonly interruptsJson: string | null;
  readonly usageJson: string | null;
  readonly failure: Failure | null;
  readonly acceptedAtMs: number;
  readonly settledAtMs: number | null;
  /** Text of the finished supersteps' messages shown so far, for late joiners; null when none. */
  readonly draft: Draft | null;
}

/** A turn for one reader. */
export type TurnGlance =
  | { readonly kind: 'whole'; readonly turn: TurnRecord }
  /** Without `response` and `messagesJson`: they are read in pieces. `spoken` is null in rows of earlier builds. */
  | { readonly kind: 'long'; readonly turn: TurnRecord; readonly spoken: SpokenTrace | null };
/** `spoken`: what the assistant's messages say, one after the other. */
export type TurnPart = 'response' | 'messages' | 'spoken';

export type Cancelled =
  | { readonly kind: 'cancelled'; readonly turn: TurnRecord }
  | { readonly kind: 'already_settled'; readonly turn: TurnRecord }
  | { readonly kind: 'not_found' };

export type TurnLook = Pick<TurnRecord, 'status' | 'fence' | 'step'>;

export interface TurnStore {
  /** P9, in one transaction under the thread lock. @throws CommitUnknown */
  accept(input: AcceptTurn): Promise<Accepted>;
  /** Looks an accept of unknown outcome up by turn id, in any epoch, under the thread lock (P9). */
  findAccepted(thread: ThreadKey, turnId: string): Promise<TurnRecord | undefined>;
  /** A turn of any epoch of this thread; one of a dead epoch reads as `aborted` without content. */
  get(thread: ThreadKey, turnId: string): Promise<TurnRecord | undefined>;
  /** As `get`, for who holds no long text: more than `maxBytes` of reply and messages is left out. */
  glance(thread: ThreadKey, turnId: string, maxBytes: number): Promise<TurnGlance | undefined>;
  /** `length` characters (code points) of a part, '' behind its end; undefined when the thread is deleted. */
  piece(
    thread: ThreadKey,
    turnId: string,
    part: TurnPart,
    at: { readonly from: number; readonly length: number },
  ): Promise<string | undefined>;
  /** Cheap look at many waited-for turns at once: turn id → status, fence and step. */
  peek(turnIds: readonly string[]): Promise<ReadonlyMap<string, TurnLook>>;
  /** How many turns are not settled, of all tenants. Costs as much as there are such turns. */
  countOpen(): Promise<readonly OpenTurnCount[]>;
  /** Marks that somebody listens, to these stream modes too (DESIGN 15.2). */
  listen(thread: ThreadKey, turnId: string, modes?: ModeSet): Promise<void>;
  /** P6: settles a pending or running turn `cancelled`, fence + 1. */
  cancel(thread: ThreadKey, turnId: string): Promise<Cancelled>;
}

// --- gateway: threads -------------------------------------------------------------------------

export interface ThreadRecord {
  readonly thread: ThreadKey;
  readonly epoch: number;
  readonly version: number;
  readonly graph: string | null;
  readonly metadataJson: string;
  /** `busy` when an unsettled turn exists, else `interrupted` when the head waits for a resume, else `idle`. */
  readonly status: 'idle' | 'busy' | 'interrupted';
  readonly interruptsJson: string | null;
  /** Nodes that would run next at the head: JSON array. */
  readonly nextJson: string | null;
  readonly headCheckpoint: string | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** The turn that runs or is next to run; null in a thread that is not `busy`. */
  readonly open: OpenTurn | null;
}

export type { ListThreads, OpenTurn, ThreadCursor, ThreadPage } from './list-port.js';

export interface CreateThread {
  readonly thread: ThreadKey;
  readonly graph?: string;
  readonly metadataJson?: string;
}

/** Where a page of messages ends: continue after (seq, index). */
export interface MessageCursor {
  readonly seq: number;
  readonly index: number;
}
export interface MessagePage {
  readonly messages: readonly (TranscriptMessage & {
    readonly turn_id: string;
    readonly seq: number;
  })[];
  readonly next: MessageCursor | null;
}

export type { ChannelView, HistoryEntry, StateView } from './state-port.js';

export type Deleted =
  /** `nextSeq` goes into the wake that follows (P8). `first` is false when it was deleted already. */
  | { readonly kind: 'deleted'; readonly nextSeq: number; readonly first: boolean }
  | { readonly kind: 'not_found' };

export interface ThreadStore {
  create(
    input: CreateThread,
  ): Promise<{ readonly kind: 'created' | 'exists'; readonly thread: ThreadRecord }>;
  /** Undefined for a thread that never was, is deleted, or is someone else's: they look the same. */
  get(thread: ThreadKey): Promise<ThreadRecord | undefined>;
  /** The tenant's threads that are not deleted, newest first. */
  list(asked: ListThreads): Promise<ThreadPage>;
  messages(
    thread: ThreadKey,
    after: MessageCursor | null,
    limit: number,
  ): Promise<MessagePage | undefined>;
  state(thread: ThreadKey): Promise<StateView | undefined>;
  /** Reads one channel of the committed state and nothing of the others: as cheap in a long thread as in a new one. */
  channel(thread: ThreadKey, name: string): Promise<ChannelView | undefined>;
  history(
    thread: ThreadKey,
    beforeVersion: number | null,
    limit: number,
  ): Promise<readonly HistoryEntry[] | undefined>;
  /** P8, in one transaction; repeatable. */
  delete(thread: ThreadKey): Promise<Deleted>;
}

// --- worker -----------------------------------------------------------------------------------

/** Who claims: activity ids of a run are numbers that grow (P3). */
export interface Holder {
  readonly runId: string;
  readonly activityId: number;
  readonly attempt: number;
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
