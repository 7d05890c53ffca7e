/** Threads as the gateway sees them: created, looked at, listed by version. A deleted one looks like one that never was. */
import type { ThreadKey, TurnStatus } from '../contracts/protocol.js';
import type { CreateThread, HistoryEntry, ThreadRecord } from './port.js';
import { branchOf, isOnBranch } from './branch.js';
import { canonicalText } from './stored-json.js';
import { getThread } from './thread-list.js';
import {
  insertThread,
  lockThread,
  readThread,
  reviveThread,
  type ThreadRow,
} from './thread-row.js';
import { query, type Tx } from './tx.js';

export interface Created {
  readonly kind: 'created' | 'exists';
  readonly thread: ThreadRecord;
}

export function* createThread(input: CreateThread): Tx<Created> {
  const { thread: key } = input;
  const row = yield* lockThread(key);
  if (row?.deleted === 0) return { kind: 'exists', thread: yield* known(key) };
  const life = {
    graph: input.graph ?? null,
    metadata: canonicalText(input.metadataJson ?? '{}'),
  };
  if (row !== undefined) yield* reviveThread(key, life);
  else if (!(yield* insertThread(key, life, 1))) return yield* createThread(input);
  return { kind: 'created', thread: yield* known(key) };
}

function* known(key: ThreadKey): Tx<ThreadRecord> {
  const found = yield* getThread(key);
  if (found === undefined) throw new Error('a thread that was just made is not there');
  return found;
}

/** The live row, or undefined. */
export function* liveThread(key: ThreadKey): Tx<ThreadRow | undefined> {
  const row = yield* readThread(key);
  return row?.deleted === 0 ? row : undefined;
}

interface VersionRow {
  readonly version: number;
  readonly turn_id: string;
  readonly seq: number;
  readonly status: TurnStatus;
  readonly checkpoint_id: string | null;
  readonly settled_at_ms: number;
  readonly from_version: number | null;
}

/** Newest first. Versions and seqs have one order, so the key serves; an index of its own would cost each commit two pages. */
export function* threadHistory(
  key: ThreadKey,
  beforeVersion: number | null,
  limit: number,
): Tx<readonly HistoryEntry[] | undefined> {
  const row = yield* liveThread(key);
  if (row === undefined) return undefined;
  const rows = yield* query<VersionRow>(
    `SELECT version, turn_id, seq, status, checkpoint_id, settled_at_ms, from_version FROM et_turns
     WHERE tenant = $1 AND thread_id = $2 AND epoch = $3 AND version IS NOT NULL AND version < $4
     ORDER BY seq DESC LIMIT $5`,
    ...[key.tenant, key.threadId, row.epoch, beforeVersion ?? row.version + 1, limit],
  );
  const branch = yield* branchOf(key, row);
  return rows.map((r) => ({
    version: r.version,
    turnId: r.turn_id,
    seq: r.seq,
    status: r.status,
    checkpointId: r.checkpoint_id,
    settledAtMs: r.settled_at_ms,
    fromVersion: r.from_version,
    leftBehind: !isOnBranch(branch, r.version),
  }));
}
