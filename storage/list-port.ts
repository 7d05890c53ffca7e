/** What is asked about many threads or turns at once. Part of the storage port. */
import type { ThreadKey } from '../contracts/protocol.js';
import type { ThreadRecord } from './port.js';

/** A turn that runs, or is next to run. */
export interface OpenTurn {
  readonly turnId: string;
  readonly seq: number;
  readonly status: 'pending' | 'running';
  readonly acceptedAtMs: number;
  /** How often it was claimed. */
  readonly attempts: number;
}

/** Where a page of threads ends. */
export interface ThreadCursor {
  readonly createdAtMs: number;
  readonly threadId: string;
}

export interface ListThreads {
  readonly tenant: ThreadKey['tenant'];
  readonly status?: ThreadRecord['status'] | undefined;
  readonly graph?: string | undefined;
  /** Begins behind this one. */
  readonly after: ThreadCursor | null;
  readonly limit: number;
}

export interface ThreadPage {
  readonly threads: readonly ThreadRecord[];
  /** Null at the end. */
  readonly next: ThreadCursor | null;
}

/** Turns that run now on workers of one build. */
export interface RunningTurnCount {
  /** Null: workers without a build id. */
  readonly buildId: string | null;
  readonly count: number;
}

/** Turns of one graph that are not settled. */
export interface OpenTurnCount {
  readonly graph: string;
  readonly status: OpenTurn['status'];
  readonly count: number;
  /** How long ago the oldest of them was accepted. */
  readonly oldestMs: number;
}
