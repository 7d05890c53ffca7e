/**
 * The turns that a thread's newest state stands on (F7). Most threads are one branch; a fork or a reset goes on from an
 * earlier version and leaves those between behind.
 */
import type { ThreadKey } from '../contracts/protocol.js';
import type { ThreadRow } from './thread-row.js';
import { query, type Tx } from './tx.js';

/** A run of versions without a jump. Turns stand in the order of their versions, so it is bounded by seq, too. */
export interface Span {
  readonly fromVersion: number;
  readonly toVersion: number;
  readonly fromSeq: number;
  /** The first turn that is certainly behind it. */
  readonly beforeSeq: number;
}

interface Jump {
  readonly version: number;
  readonly seq: number;
  readonly from_version: number;
}

/** Oldest first. */
export function* branchOf(
  key: ThreadKey,
  { epoch, version }: Pick<ThreadRow, 'epoch' | 'version'>,
): Tx<readonly Span[]> {
  const jumps = yield* query<Jump>(
    `SELECT version, seq, from_version FROM et_turns
     WHERE tenant = $1 AND thread_id = $2 AND epoch = $3 AND from_version IS NOT NULL AND version IS NOT NULL
     ORDER BY version DESC`,
    ...[key.tenant, key.threadId, epoch],
  );
  return spansOf(version, jumps);
}

export const isOnBranch = (branch: readonly Span[], version: number): boolean =>
  branch.some(({ fromVersion, toVersion }) => fromVersion <= version && version <= toVersion);

/** @param jumps newest first; those that were themselves left behind are among them */
export function spansOf(newest: number, jumps: readonly Jump[]): readonly Span[] {
  const spans: Span[] = [];
  let toVersion = newest;
  let beforeSeq = Number.MAX_SAFE_INTEGER;
  for (const { version, seq, from_version } of jumps) {
    if (version <= toVersion) {
      spans.push({ fromVersion: version, toVersion, fromSeq: seq, beforeSeq });
      toVersion = from_version;
    }
    beforeSeq = seq;
  }
  spans.push({ fromVersion: 1, toVersion, fromSeq: 0, beforeSeq });
  return spans.reverse();
}
