/**
 * The storage port: what gateway and worker may ask of the database (DESIGN 8). Three backends keep it: `memory`,
 * `sqlite`, `postgres`; one contract suite runs on all of them. Every method is one transaction.
 * A refusal that a caller must handle is a case of a union; a database that is down throws `StorageUnavailable`.
 */
import type { Draft } from '../contracts/frames.js';
import type { Failure } from '../contracts/failure.js';
import type { TranscriptMessage } from '../contracts/http.schema.js';
import type { ModeSet } from '../contracts/stream-modes.js';
import type { SpokenTrace } from '../contracts/text-trace.js';
import type { ThreadKey, TurnStatus } from '../contracts/protocol.js';
import type { FactVectors, MemoryStore } from '../memory/store.js';
import type { Accepted, AcceptTurn } from './accept-port.js';
import type { AskedThread } from './asked-thread.js';
import type { ClaimedTurn, ClaimStore } from './claim-port.js';
import type { ErasureStore } from './erasure-port.js';
import type {
  ListThreads,
  OpenTurn,
  OpenTurnCount,
  RunningTurnCount,
  ThreadPage,
} from './list-port.js';
import type { GraphStoreRows } from './graph-store/port.js';
import type { Attempt, AttemptOptions } from './saver/port.js';
import type { AttemptReads } from './saver/reads.js';
import type { ChannelView, HistoryEntry, StateView } from './state-port.js';

export type StorageKind = 'memory' | 'sqlite' | 'postgres';

/** The database cannot be reached or does not answer in time. Nothing is half-written; the caller answers 503 or tries again. */
export class StorageUnavailable extends Error {
  override readonly name = 'StorageUnavailable';
}
/** No room to write: reads go on, and writes too as soon as there is room. */
export class StorageFull extends StorageUnavailable {
  constructor(options?: ErrorOptions) {
    super('The disk of the database is full: nothing can be written until there is room.', options);
  }
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
export type { AskedThread } from './asked-thread.js';

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
  get(thread: AskedThread, turnId: string): Promise<TurnRecord | undefined>;
  /** As `get`, for who holds no long text: more than `maxBytes` of reply and messages is left out. */
  glance(thread: AskedThread, turnId: string, maxBytes: number): Promise<TurnGlance | undefined>;
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
  /** How many turns run, build by build (V1), of all tenants. */
  countRunning(): Promise<readonly RunningTurnCount[]>;
  /** Marks that somebody listens, to these stream modes too (DESIGN 15.2). */
  listen(thread: ThreadKey, turnId: string, modes?: ModeSet): Promise<void>;
  /** P6: settles a pending or running turn `cancelled`, fence + 1. */
  cancel(thread: AskedThread, turnId: string): Promise<Cancelled>;
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
  /** Of the worker that took its last turn (V1); null: it had none, or there was no turn. */
  readonly buildId: string | null;
}

export type {
  ListThreads,
  OpenTurn,
  RunningTurnCount,
  ThreadCursor,
  ThreadPage,
} from './list-port.js';

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
  get(thread: AskedThread): Promise<ThreadRecord | undefined>;
  /** The tenant's threads that are not deleted, newest first. */
  list(asked: ListThreads): Promise<ThreadPage>;
  messages(
    thread: AskedThread,
    after: MessageCursor | null,
    limit: number,
  ): Promise<MessagePage | undefined>;
  state(thread: AskedThread): Promise<StateView | undefined>;
  /** Reads one channel of the committed state and nothing of the others: as cheap in a long thread as in a new one. */
  channel(thread: AskedThread, name: string): Promise<ChannelView | undefined>;
  history(
    thread: AskedThread,
    beforeVersion: number | null,
    limit: number,
  ): Promise<readonly HistoryEntry[] | undefined>;
  /** P8, in one transaction; repeatable. */
  delete(thread: AskedThread): Promise<Deleted>;
}

// --- worker -----------------------------------------------------------------------------------

export type {
  Claim,
  Claimed,
  ClaimedTurn,
  ClaimLimits,
  ClaimLook,
  ClaimStore,
  Flushed,
  Holder,
  Progress,
  Settled,
  Settlement,
} from './claim-port.js';
