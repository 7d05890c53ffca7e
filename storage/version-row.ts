/** The turn that left a version of the thread. */
import type { ThreadKey, TurnStatus } from '../contracts/protocol.js';
import { first, type Tx } from './tx.js';

export interface VersionRow {
  readonly seq: number;
  readonly status: TurnStatus;
  readonly checkpoint_id: string | null;
  readonly interrupts: string | null;
}

/** A later version of the epoch and the turn that left it; its thread's head, usually. */
export interface Later {
  readonly epoch: number;
  readonly version: number;
  readonly head_seq: number | null;
}

/**
 * Versions are dense, and turns stand in their order: so many versions before the later one are at least so many seqs before
 * it. Going back from there the key finds the row, past no more turns than those that left no version. An index of its own
 * would cost each commit two pages.
 */
export function* turnOfVersion(
  key: ThreadKey,
  later: Later,
  version: number,
): Tx<VersionRow | undefined> {
  if (later.head_seq === null || version < 1 || version > later.version) return undefined;
  return yield* first<VersionRow>(
    `SELECT seq, status, checkpoint_id, interrupts FROM et_turns
     WHERE tenant = $1 AND thread_id = $2 AND epoch = $3 AND seq <= $4 AND version = $5
     ORDER BY seq DESC LIMIT 1`,
    ...[key.tenant, key.threadId, later.epoch, later.head_seq - (later.version - version), version],
  );
}
