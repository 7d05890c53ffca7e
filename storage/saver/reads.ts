/**
 * What an attempt reads of its view (P5), as stored rows: nothing here decodes what a graph made, so the answers can be
 * posted to the thread that does.
 */
import type { Driver } from '../tx.js';
import { listCheckpoints, readCheckpoint, readLastPos, type Stored, type View } from './rows.js';

export interface AttemptReads {
  /** The newest root checkpoint and the highest `pos` of the epoch, from one snapshot. */
  opening(): Promise<Opening>;
  /** The newest checkpoint of the namespace, or exactly the one asked for. */
  checkpoint(ns: string, id: string | null): Promise<Stored | undefined>;
  /** All of the view, newest first; `ns` undefined takes all namespaces. */
  list(ns: string | undefined): Promise<readonly Stored[]>;
}

export interface Opening {
  readonly lastPos: number;
  readonly root: Stored | undefined;
}

export const readsOn = (driver: Driver, view: View): AttemptReads => ({
  opening: () =>
    driver.read(function* () {
      return { lastPos: yield* readLastPos(view), root: yield* readCheckpoint(view, '', null) };
    }),
  checkpoint: (ns, id) => driver.read(() => readCheckpoint(view, ns, id)),
  list: (ns) => driver.read(() => listCheckpoints(view, ns)),
});
