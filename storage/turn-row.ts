/** The turn's row and the record that the port shows of it. */
import type { FailureCode } from '../contracts/failure.js';
import type { SettledStatus, ThreadKey, TurnStatus } from '../contracts/protocol.js';
import type { Claim, TurnRecord } from './port.js';
import { first, type Tx } from './tx.js';

/** What transactions decide on. */
export interface TurnRow {
  readonly tenant: string;
  readonly thread_id: string;
  readonly epoch: number;
  readonly seq: number;
  readonly turn_id: string;
  readonly status: TurnStatus;
  readonly graph: string;
  readonly fence: number;
  readonly step: number;
  readonly base_version: number | null;
  readonly version: number | null;
  readonly response: string;
  readonly messages: string | null;
  readonly values_json: string | null;
  readonly interrupts: string | null;
  readonly usage_json: string | null;
  readonly failure_code: FailureCode | null;
  readonly failure_message: string | null;
  readonly accepted_at_ms: number;
  readonly settled_at_ms: number | null;
}

const recordColumns = [
  ...['tenant', 'thread_id', 'epoch', 'seq', 'turn_id', 'status', 'graph', 'fence', 'step'],
  ...['base_version', 'version', 'response', 'messages', 'values_json', 'interrupts', 'usage_json'],
  ...['failure_code', 'failure_message', 'accepted_at_ms', 'settled_at_ms'],
];
/** For a RETURNING. */
export const turnColumns = recordColumns.join(', ');

interface DraftColumns {
  readonly draft_fence: number | null;
  readonly draft_step: number;
  readonly draft_seq: number;
  readonly draft_text: string;
}
export type RecordRow = TurnRow & Partial<DraftColumns>;

/** Turns `t` with their drafts; `show` gives the expression of a column, `more` stands behind them all. */
export const selectTurn = (show: (column: string) => string, ...more: readonly string[]): string =>
  `SELECT ${[...recordColumns.map(show), ...draftColumns, ...more].join(', ')}
  FROM et_turns t LEFT JOIN et_drafts d
    ON d.tenant = t.tenant AND d.thread_id = t.thread_id AND d.epoch = t.epoch AND d.seq = t.seq`;

const draftColumns = [
  ...['d.fence AS draft_fence', 'd.step AS draft_step'],
  ...['d.frame_seq AS draft_seq', 'd.text AS draft_text'],
];
const withDraft = selectTurn((column) => `t.${column}`);

/** Found only under its own thread, in any epoch. */
export const turnById = (thread: ThreadKey, turnId: string): Tx<RecordRow | undefined> =>
  first<RecordRow>(
    `${withDraft} WHERE t.turn_id = $1 AND t.tenant = $2 AND t.thread_id = $3`,
    turnId,
    thread.tenant,
    thread.threadId,
  );

export const turnBySeq = (
  thread: ThreadKey,
  epoch: number,
  seq: number,
): Tx<RecordRow | undefined> =>
  first<RecordRow>(
    `${withDraft} WHERE t.tenant = $1 AND t.thread_id = $2 AND t.epoch = $3 AND t.seq = $4`,
    thread.tenant,
    thread.threadId,
    epoch,
    seq,
  );

/** `settled_at_ms` and a settled status are written together, always. */
export const settledStatus = (row: { readonly status: TurnStatus }): SettledStatus | undefined =>
  row.status === 'pending' || row.status === 'running' ? undefined : row.status;

/** Where a claim's turn is: the four values that most statements start with. */
export const placeOf = (claim: Pick<Claim, 'thread' | 'epoch' | 'seq'>) =>
  [claim.thread.tenant, claim.thread.threadId, claim.epoch, claim.seq] as const;

/** `WHERE` of a turn whose place is `$1 … $4`. */
export const atPlace = 'tenant = $1 AND thread_id = $2 AND epoch = $3 AND seq = $4';

/** A turn as readers see it. One of a dead epoch reads as `aborted` without content (P8). */
export function recordOf(row: RecordRow, over: boolean): TurnRecord {
  const thread = { tenant: row.tenant, threadId: row.thread_id };
  const base = {
    thread,
    turnId: row.turn_id,
    epoch: row.epoch,
    seq: row.seq,
    graph: row.graph,
    fence: row.fence,
    step: row.step,
    baseVersion: row.base_version,
    acceptedAtMs: row.accepted_at_ms,
    settledAtMs: row.settled_at_ms,
  };
  if (over) return { ...base, ...noContent, status: 'aborted' };
  return {
    ...base,
    status: row.status,
    version: row.version,
    response: row.response,
    messagesJson: row.messages,
    valuesJson: row.values_json,
    interruptsJson: row.interrupts,
    usageJson: row.usage_json,
    failure:
      row.failure_code === null
        ? null
        : { code: row.failure_code, message: row.failure_message ?? '' },
    draft: draftOf(row, thread),
  };
}

const noContent = {
  version: null,
  response: '',
  messagesJson: null,
  valuesJson: null,
  interruptsJson: null,
  usageJson: null,
  failure: null,
  draft: null,
} as const;

function draftOf(row: RecordRow, thread: ThreadKey): TurnRecord['draft'] {
  if (row.draft_fence === undefined || row.draft_fence === null) return null;
  return {
    thread,
    turn: row.turn_id,
    fence: row.draft_fence,
    step: row.draft_step ?? 0,
    seq: row.draft_seq ?? 0,
    text: row.draft_text ?? '',
  };
}
