/** A thread as a caller asks for it. */
import type { ThreadKey } from '../contracts/protocol.js';

/**
 * Where `mine` says no, the thread is one that never was to him: looked at in the very transaction that reads or acts, so
 * that a thread which changes hands meanwhile is not shown or touched (A4, A10).
 */
export interface AskedThread extends ThreadKey {
  readonly mine?: ((metadataJson: string) => boolean) | undefined;
}

interface Owned {
  readonly deleted: number;
  readonly metadata: string;
}

/** A deleted thread is nobody's: its tombstone answers everybody alike. */
export const seenBy = <Row extends Owned>(
  { mine }: AskedThread,
  row: Row | undefined,
): Row | undefined =>
  row === undefined || mine === undefined || row.deleted === 1 || mine(row.metadata)
    ? row
    : undefined;
