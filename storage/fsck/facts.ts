/** Reads all that the checks need of one thread: one transaction, so live traffic never looks like damage. No content leaves the database. */
import type { ThreadKey, TurnStatus } from '../../contracts/protocol.js';
import { isOverRun } from '../erasure.js';
import { lockThread, readThread, type ThreadRow } from '../thread-row.js';
import { first, query, type Tx } from '../tx.js';

export interface TurnFacts {
  readonly epoch: number;
  readonly seq: number;
  readonly turn_id: string;
  readonly status: TurnStatus;
  readonly settled_at_ms: number | null;
  readonly base_version: number | null;
  readonly version: number | null;
  readonly checkpoint_id: string | null;
  readonly failure_code: string | null;
  readonly interrupts: string | null;
  /** 1 when messages and values stand in the row. */
  readonly replied: number;
  /** 1 when any column that a delete empties holds something. */
  readonly content: number;
  /** Milliseconds since it was accepted or showed a sign of life, whichever came last. */
  readonly silent_ms: number;
}

/** Rows of one table that one turn wrote. */
export interface Held {
  readonly table: 'et_checkpoints' | 'et_deltas' | 'et_writes' | 'et_drafts';
  readonly epoch: number;
  readonly seq: number;
  readonly rows: number;
}

export interface ThreadFacts {
  readonly thread: ThreadKey;
  readonly row: ThreadRow;
  /** Ascending by (epoch, seq), all epochs. */
  readonly turns: readonly TurnFacts[];
  readonly keys: readonly { readonly epoch: number; readonly seq: number }[];
  readonly held: readonly Held[];
  readonly runs: readonly { readonly epoch: number; readonly run_id: string }[];
  /** Positions that several checkpoints of one epoch and namespace claim. */
  readonly twins: readonly { readonly epoch: number; readonly ns: string; readonly pos: number }[];
}

const at = 'tenant = $1 AND thread_id = $2';

const contentColumns = [
  ...['messages', 'values_json', 'interrupts', 'resume_interrupts', 'usage_json'],
  ...['failure_message', 'pending_nodes', 'ran_nodes'],
];

const turnsOf = `SELECT epoch, seq, turn_id, status, settled_at_ms, base_version, version, checkpoint_id, failure_code,
    interrupts,
    CASE WHEN messages IS NOT NULL AND values_json IS NOT NULL THEN 1 ELSE 0 END AS replied,
    CASE WHEN input <> '' OR response <> '' OR ${contentColumns.map((c) => `${c} IS NOT NULL`).join(' OR ')}
      THEN 1 ELSE 0 END AS content,
    {now} - CASE WHEN alive_at_ms > accepted_at_ms THEN alive_at_ms ELSE accepted_at_ms END AS silent_ms
  FROM et_turns WHERE ${at} ORDER BY epoch, seq`;

const holding = ['et_checkpoints', 'et_deltas', 'et_writes', 'et_drafts'] as const;

/** @param how `lock` for a repair, which writes what it reads; undefined when the thread never was */
export function* readFacts(thread: ThreadKey, how: 'read' | 'lock'): Tx<ThreadFacts | undefined> {
  const row = yield* how === 'lock' ? lockThread(thread) : readThread(thread);
  if (row === undefined) return undefined;
  const key = [thread.tenant, thread.threadId] as const;
  const turns = yield* query<TurnFacts>(turnsOf, ...key);
  const keys = yield* query<ThreadFacts['keys'][number]>(
    `SELECT epoch, seq FROM et_keys WHERE ${at}`,
    ...key,
  );
  const held: Held[] = [];
  for (const table of holding) {
    const groups = yield* query<Omit<Held, 'table'>>(
      `SELECT epoch, seq, count(*) AS rows FROM ${table} WHERE ${at} GROUP BY epoch, seq`,
      ...key,
    );
    held.push(...groups.map((group) => ({ table, ...group })));
  }
  const runs = yield* query<ThreadFacts['runs'][number]>(
    `SELECT epoch, run_id FROM et_runs WHERE ${at}`,
    ...key,
  );
  const twins = yield* query<ThreadFacts['twins'][number]>(
    `SELECT epoch, ns, pos FROM et_checkpoints WHERE ${at} GROUP BY epoch, ns, pos HAVING count(*) > 1`,
    ...key,
  );
  return { thread, row, turns, keys, held, runs, twins };
}

/** Threads in the order of their keys, after one; all of them end up in some page, whatever is added meanwhile. */
export function* listThreads(after: ThreadKey | null, limit: number): Tx<readonly ThreadKey[]> {
  const rows = yield* query<{ tenant: string; thread_id: string }>(
    `SELECT tenant, thread_id FROM et_threads WHERE tenant > $1 OR (tenant = $1 AND thread_id > $2)
     ORDER BY tenant, thread_id LIMIT $3`,
    after?.tenant ?? '',
    after?.threadId ?? '',
    limit,
  );
  return rows.map(({ tenant, thread_id }) => ({ tenant, threadId: thread_id }));
}

/** How many rows of a table. */
interface Stray {
  readonly table: string;
  readonly rows: number;
}

/** Rows that no thread owns. A thread's row is never removed, so there should be none. */
export function* ownerless(): Tx<readonly Stray[]> {
  const found: { table: string; rows: number }[] = [];
  for (const table of ['et_turns', 'et_keys', 'et_runs', ...holding]) {
    const answer = yield* first<{ found: number }>(
      `SELECT count(*) AS found FROM ${table} o WHERE NOT (${isOverRun('o')}) AND NOT EXISTS
         (SELECT 1 FROM et_threads t WHERE t.tenant = o.tenant AND t.thread_id = o.thread_id)`,
    );
    if (answer !== undefined && answer.found > 0) found.push({ table, rows: answer.found });
  }
  return found;
}

/** What hangs on a row, with the row that should be there: both go in one transaction. */
const hanging = [
  ...['et_facts', 'et_fact_vectors', 'et_episodes', 'et_memory_keys'].map(
    (table) => [table, 'et_memory_owners', ['tenant', 'user_id']] as const,
  ),
  ['et_store_vectors', 'et_store_items', ['tenant', 'ns', 'item_key']] as const,
];

/** Memory that no user owns, vectors that no item has. */
export function* ownerlessMemory(): Tx<readonly Stray[]> {
  const found: Stray[] = [];
  for (const [table, owners, key] of hanging) {
    const answer = yield* first<{ found: number }>(
      `SELECT count(*) AS found FROM ${table} m WHERE NOT EXISTS
         (SELECT 1 FROM ${owners} o WHERE ${key.map((k) => `o.${k} = m.${k}`).join(' AND ')})`,
    );
    if (answer !== undefined && answer.found > 0) found.push({ table, rows: answer.found });
  }
  return found;
}
