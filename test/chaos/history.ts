/**
 * What a chaos run has seen: every operation with its times and outcome, every model call, and the store at the end.
 * Plain data, so that the checker is pure and hand-made histories can be checked too.
 */
import type { SettledStatus, TurnStatus } from '../../contracts/protocol.js';

/** Each text that a client sends carries one: thread and number, found again wherever the text shows up. */
export const canaryIn = /cn\.([A-Za-z0-9-]+)\.(\d+)/g;
export const canaryOf = (thread: string, n: number): string => `cn.${thread}.${n}`;
export const canariesIn = (text: string): string[] => [...text.matchAll(canaryIn)].map(([c]) => c);
export const threadOfCanary = (canary: string): string => canary.split('.')[1] ?? '';

export type OpKind =
  | 'turn' // POST of a turn, and each of its retries
  | 'conflict' // the key of an earlier turn with another body
  | 'replay' // a settled turn's key with its own body, when all is quiet
  | 'cancel'
  | 'delete'
  | 'show' // GET of one turn
  | 'messages' // GET of all pages
  | 'state'
  | 'join'; // GET of a turn's stream

export interface Op {
  readonly kind: OpKind;
  readonly client: string;
  readonly thread: string;
  readonly startMs: number;
  readonly endMs: number;
  /** `unknown`: no answer came, or it broke off. */
  readonly result: 'ok' | 'fail' | 'unknown';
  /** HTTP status; 0 when no answer came. */
  readonly status: number;
  /** Problem code, and the failure code of a failed turn. */
  readonly code?: string;
  readonly failure?: string;
  readonly key?: string;
  /** What was sent: a message, or the answer to an interrupt. */
  readonly text?: string;
  readonly turnId?: string;
  readonly seq?: number;
  readonly epoch?: number;
  readonly version?: number;
  readonly turnStatus?: TurnStatus;
  /** The bytes of a turn reply: a 200, or the data of `done`. */
  readonly body?: string;
  /** `Idempotent-Replayed` was set. */
  readonly replayed?: boolean;
  readonly events?: readonly SeenEvent[];
  /** Of `messages` and `state`: contents by role, in order. */
  readonly list?: readonly { readonly role: string; readonly text: string }[];
  /** Model calls that were begun while the operation ran; of `replay` only. */
  readonly modelCalls?: number;
  /** Read when all faults had healed and every turn was settled. */
  readonly final?: boolean;
}

export interface SeenEvent {
  readonly event: string;
  readonly id?: string;
  readonly data: string;
}

export interface ModelCall {
  readonly atMs: number;
  /** The system message: which call of the turn. */
  readonly step: string;
  /** Canary of the last user message. */
  readonly canary: string;
  /** How many user messages there were, and a digest of their canaries in order. */
  readonly users: number;
  readonly digest: string;
  /** Threads of all canaries that the model was shown. */
  readonly threads: readonly string[];
}

export interface StoredTurn {
  readonly thread: string;
  readonly epoch: number;
  readonly seq: number;
  readonly turnId: string;
  readonly status: TurnStatus;
  readonly fence: number;
  readonly baseVersion: number | null;
  readonly version: number | null;
  /** '' when erased. */
  readonly text: string;
  readonly response: string;
  readonly failure: string | null;
}

export interface StoredThreadRow {
  readonly thread: string;
  readonly epoch: number;
  readonly deleted: boolean;
  readonly version: number;
  readonly nextSeq: number;
  readonly settledSeq: number;
}

/** One change of a turn's row, as a trigger in the database saw it. */
export interface RowChange {
  readonly turnId: string;
  readonly status: TurnStatus;
  readonly fence: number;
  readonly version: number | null;
  readonly runId: string | null;
  readonly activityId: number | null;
  readonly attempt: number | null;
}

export interface Store {
  readonly threads: readonly StoredThreadRow[];
  readonly turns: readonly StoredTurn[];
  readonly keys: readonly {
    readonly thread: string;
    readonly epoch: number;
    readonly key: string;
    readonly seq: number;
  }[];
  /** In the order in which they happened. */
  readonly changes: readonly RowChange[];
  /** Every canary that stands in any column of any table. */
  readonly canaries: readonly { readonly table: string; readonly canary: string }[];
}

export interface History {
  readonly ops: readonly Op[];
  readonly calls: readonly ModelCall[];
  readonly store: Store;
}

export interface Violation {
  /** Which invariant: a short name, counted in reports and asserted in tests. */
  readonly kind: string;
  readonly detail: string;
}

export const isSettled = (status: TurnStatus): status is SettledStatus =>
  status !== 'pending' && status !== 'running';

/** Order-sensitive, so that two lists of the same texts in another order differ. */
export function digestOf(canaries: readonly string[]): string {
  let h = 0;
  for (const char of canaries.join(' ')) h = (Math.imul(h, 31) + (char.codePointAt(0) ?? 0)) | 0;
  return `${canaries.length}:${h >>> 0}`;
}
