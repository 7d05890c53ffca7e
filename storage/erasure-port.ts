/** What the sweeper needs to erase the histories of epochs that are over (P8, O5). */
import type { ThreadKey } from '../contracts/protocol.js';

/** A workflow run that served an epoch that is over. */
export interface OverRun {
  readonly thread: ThreadKey;
  readonly epoch: number;
  readonly runId: string;
  /** The thread is deleted now: a run of it that is still open has not heard of it. */
  readonly deleted: boolean;
  readonly nextSeq: number;
}

export interface ErasureStore {
  /** Takes runs whose history is to be erased, each for some seconds: two sweepers never take the same, a lost one's come back. */
  takeOverRuns(limit: number): Promise<readonly OverRun[]>;
  /** Its history is gone. */
  forgetRun(run: OverRun): Promise<void>;
  /** Deletes threads at rest that nothing has touched for so long (O11). @returns how many, `limit` at most */
  expire(idleMs: number, limit: number): Promise<number>;
  /** It is open and serves the next epoch: looked at again after some time. */
  postponeRun(run: OverRun): Promise<void>;
}
