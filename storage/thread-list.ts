/** Looks at one thread or many: each with the turn that runs or is next. A deleted one looks like one that never was. */
import { seenBy, type AskedThread } from './asked-thread.js';
import type {
  ListThreads,
  OpenTurn,
  OpenTurnCount,
  RunningTurnCount,
  ThreadPage,
} from './list-port.js';
import type { ThreadRecord } from './port.js';
import { hasUnsettled, threadColumns, type ThreadRow } from './thread-row.js';
import { first, query, type SqlValue, type Tx } from './tx.js';

interface ListedRow extends ThreadRow {
  readonly thread_id: string;
  readonly open_id: string | null;
  readonly open_seq: number;
  readonly open_status: OpenTurn['status'];
  readonly open_since_ms: number;
  readonly open_fence: number;
  readonly build_id: string | null;
}

/** The earliest unsettled turn is the one behind the settled ones. */
const listed = `SELECT t.thread_id, ${threadColumns.replaceAll(/\w+/g, 't.$&')},
    u.turn_id AS open_id, u.seq AS open_seq, u.status AS open_status, u.accepted_at_ms AS open_since_ms,
    u.fence AS open_fence, coalesce(u.build_id, last.build_id) AS build_id
  FROM et_threads t LEFT JOIN et_turns u ON u.tenant = t.tenant AND u.thread_id = t.thread_id
    AND u.epoch = t.epoch AND u.seq = t.settled_seq + 1
    LEFT JOIN et_turns last ON last.tenant = t.tenant AND last.thread_id = t.thread_id
    AND last.epoch = t.epoch AND last.seq = t.settled_seq
  WHERE t.tenant = $1 AND t.deleted = 0`;

export function* getThread(key: AskedThread): Tx<ThreadRecord | undefined> {
  const row = yield* first<ListedRow>(`${listed} AND t.thread_id = $2`, key.tenant, key.threadId);
  const seen = seenBy(key, row);
  return seen === undefined ? undefined : recordOf(key.tenant, seen);
}

/**
 * Newest first: the time of creation never changes, so the indexes behind this cost a turn nothing. Each filter has one of
 * its own (migration 0008), but `idle`, which most threads are.
 */
export function* listThreads(asked: ListThreads): Tx<ThreadPage> {
  const { tenant, status, graph, after, limit } = asked;
  const params: SqlValue[] = [tenant, limit + 1];
  const mark = (value: SqlValue): string => `$${params.push(value)}`;
  const wanted = [
    ...(status === undefined ? [] : [statuses[status]]),
    ...(graph === undefined ? [] : [`t.graph = ${mark(graph)}`]),
    ...(after === null
      ? []
      : [`(t.created_at_ms, t.thread_id) < (${mark(after.createdAtMs)}, ${mark(after.threadId)})`]),
  ];
  const rows = yield* query<ListedRow>(
    `${[listed, ...wanted].join(' AND ')} ORDER BY t.created_at_ms DESC, t.thread_id DESC LIMIT $2`,
    ...params,
  );
  const threads = rows.slice(0, limit).map((row) => recordOf(tenant, row));
  const last = rows.length > limit ? threads.at(-1) : undefined;
  const next = last && { createdAtMs: last.createdAtMs, threadId: last.thread.threadId };
  return { threads, next: next ?? null };
}

/** As `statusOf` says it. Busy threads are found by their turns: those that are not settled are few, and have an index. */
const statuses: Readonly<Record<ThreadRecord['status'], string>> = {
  busy: `t.settled_seq < t.next_seq - 1 AND t.thread_id IN
    (SELECT o.thread_id FROM et_turns o WHERE o.tenant = $1 AND o.settled_at_ms IS NULL)`,
  interrupted: `t.head_status = 'interrupted' AND t.settled_seq >= t.next_seq - 1`,
  idle: `coalesce(t.head_status, '') <> 'interrupted' AND t.settled_seq >= t.next_seq - 1`,
};

const recordOf = (tenant: string, row: ListedRow): ThreadRecord => ({
  thread: { tenant, threadId: row.thread_id },
  epoch: row.epoch,
  version: row.version,
  graph: row.graph,
  metadataJson: row.metadata,
  status: statusOf(row),
  interruptsJson: row.interrupts,
  nextJson: row.next_nodes,
  headCheckpoint: row.head_checkpoint,
  createdAtMs: row.created_at_ms,
  updatedAtMs: row.updated_at_ms,
  open: openTurnOf(row),
  buildId: row.build_id,
});

function statusOf(row: ThreadRow): ThreadRecord['status'] {
  if (hasUnsettled(row)) return 'busy';
  return row.head_status === 'interrupted' ? 'interrupted' : 'idle';
}

/** Before it settles, only claims raise a turn's fence. */
function openTurnOf(row: ListedRow): OpenTurn | null {
  if (row.open_id === null || !hasUnsettled(row)) return null;
  return {
    turnId: row.open_id,
    seq: row.open_seq,
    status: row.open_status,
    acceptedAtMs: row.open_since_ms,
    attempts: row.open_fence,
  };
}

export function* countOpen(): Tx<readonly OpenTurnCount[]> {
  const rows = yield* query<{
    graph: string;
    status: OpenTurn['status'];
    count: number;
    oldest_ms: number;
  }>(
    `SELECT graph, status, count(*) AS count, {now} - min(accepted_at_ms) AS oldest_ms
     FROM et_turns WHERE settled_at_ms IS NULL GROUP BY graph, status ORDER BY graph, status`,
  );
  return rows.map(({ oldest_ms: oldestMs, ...row }) => ({ ...row, oldestMs }));
}

/** A turn that was released waits for its next claim; its row keeps the last one's build until then. */
export const countRunning = (): Tx<readonly RunningTurnCount[]> =>
  query<{ buildId: string | null; count: number }>(
    `SELECT build_id AS "buildId", count(*) AS count FROM et_turns
     WHERE settled_at_ms IS NULL AND status = 'running' AND released = 0
     GROUP BY build_id ORDER BY build_id`,
  );
