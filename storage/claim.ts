/** P3 claim: takes the earliest unsettled turn of the current epoch under a higher fence, or says why not. */
import { reachCrashPoint } from '../contracts/crash-point.js';
import type { TurnInterrupt } from '../contracts/http.schema.js';
import type { Failure } from '../contracts/failure.js';
import type { StoredThread } from '../contracts/protocol.js';
import { isFieldEdit, startsAt, type TurnInput } from '../contracts/turn-input.js';
import { overTenant } from './erasure.js';
import type { Claim, Claimed, ClaimedTurn, ClaimLimits, Holder } from './port.js';
import { listenedTo } from './listening.js';
import { settleFailed } from './settle-turn.js';
import { hasUnsettled, lockThread, progressOf, type ThreadRow } from './thread-row.js';
import { atPlace } from './turn-row.js';
import { first, run, type Tx } from './tx.js';
import { turnOfVersion, type VersionRow } from './version-row.js';

interface OpenTurn {
  readonly turn_id: string;
  readonly graph: string;
  readonly stream: number;
  readonly input: TurnInput;
  readonly if_version: number | null;
  readonly resume_version: number | null;
  readonly fence: number;
  readonly run_id: string | null;
  readonly activity_id: number | null;
  readonly attempt: number | null;
  readonly released: number;
  readonly step: number;
  readonly has_rows: number;
  readonly pending_nodes: string | null;
  readonly ran_nodes: string | null;
  readonly losses: number;
  readonly spent_ms: number;
  readonly claimed_at_ms: number | null;
  readonly alive_at_ms: number;
  readonly waited_ms: number;
}

/** Claims (P3). Losses, deadline and what the turn asks of its head are judged here, before any model call. */
export function* claimTurn(input: {
  readonly thread: StoredThread;
  readonly holder: Holder;
  readonly limits: ClaimLimits;
}): Tx<Claimed> {
  const { thread: key, holder, limits } = input;
  const thread = yield* lockThread(key);
  if (thread === undefined) return { kind: 'idle', after: progressOf(thread) };
  if (thread.run_id !== holder.runId) yield* recordRun(key, thread, holder.runId);
  const turn = hasUnsettled(thread) ? yield* earliest(key, thread) : undefined;
  if (turn === undefined) return { kind: 'idle', after: progressOf(thread) };
  if (heldByLater(turn, holder)) return { kind: 'refused' };
  if (limits.here?.(turn.graph) === false)
    return { kind: 'elsewhere', graph: turn.graph, after: progressOf(thread) };
  const history = historyOf(turn, holder);
  const claim = {
    thread: { tenant: key.tenant, threadId: key.threadId },
    epoch: thread.epoch,
    seq: thread.settled_seq + 1,
    turnId: turn.turn_id,
    fence: turn.fence + 1,
  };
  yield* takeTurn(claim, holder, { ...history, baseVersion: thread.version });
  reachCrashPoint('in-claim', key.threadId);
  const failure = whyNot(thread, turn, history, limits);
  if (failure !== undefined) return yield* refused(claim, failure);
  const forked = yield* forkedFrom(claim, thread, turn);
  if (forked === 'gone') return yield* refused(claim, noSuchVersion);
  const leftMs = limits.turnTimeoutMs - history.spentMs;
  return { kind: 'claimed', turn: claimedTurn({ claim, thread, turn, leftMs, forked }) };
}

function* refused(claim: Claim, failure: Failure): Tx<Claimed> {
  const after = yield* settleFailed(claim, failure);
  if (after === undefined) throw new Error('a turn under its own claim did not settle');
  return { kind: 'failed', claim, code: failure.code, after };
}

/** Its state is there. */
type Forked = VersionRow & { readonly checkpoint_id: string };

/** The earlier version that a turn asks to go on from; undefined when it stands on the head, as most do. */
function* forkedFrom(
  claim: Claim,
  thread: ThreadRow,
  turn: OpenTurn,
): Tx<Forked | 'gone' | undefined> {
  const version = startsAt(turn.input);
  if (version === undefined) return undefined;
  const found = yield* turnOfVersion(claim.thread, thread, version);
  return found !== undefined && hasState(found) ? found : 'gone';
}

const hasState = (row: VersionRow): row is Forked => row.checkpoint_id !== null;

const noSuchVersion: Failure = {
  code: 'base_changed',
  message: 'The thread has no such version to go on from.',
};

/** The earliest unsettled turn is the one behind the settled ones. */
function* earliest(key: StoredThread, thread: ThreadRow): Tx<OpenTurn | undefined> {
  const row = yield* first<Omit<OpenTurn, 'input'> & { readonly input: string }>(
    `SELECT turn_id, graph, stream, input, if_version, resume_version, fence, run_id, activity_id, attempt, released,
       step, has_rows, pending_nodes, ran_nodes, losses, spent_ms, claimed_at_ms, alive_at_ms,
       {now} - accepted_at_ms AS waited_ms
     FROM et_turns WHERE ${atPlace}`,
    key.tenant,
    key.threadId,
    thread.epoch,
    thread.settled_seq + 1,
  );
  return row && { ...row, input: JSON.parse(row.input) as TurnInput };
}

/** P8: every run is known by the epochs it served. One that looks at a deleted thread served the epoch before, which is over. */
function* recordRun(key: StoredThread, thread: ThreadRow, runId: string): Tx<void> {
  const over = thread.deleted === 1;
  yield* run(
    `INSERT INTO et_runs (tenant, thread_id, epoch, run_id, seen_at_ms) VALUES ($1, $2, $3, $4, {now})
     ON CONFLICT (tenant, thread_id, epoch, run_id) DO UPDATE SET seen_at_ms = excluded.seen_at_ms`,
    over ? overTenant(key.tenant) : key.tenant,
    key.threadId,
    over ? thread.epoch - 1 : thread.epoch,
    runId,
  );
  if (over) return;
  yield* run(
    `UPDATE et_threads SET run_id = $3 WHERE tenant = $1 AND thread_id = $2`,
    key.tenant,
    key.threadId,
    runId,
  );
}

/** P3: only a later activity or attempt of the same run makes this one a zombie; other runs are not comparable. */
const heldByLater = (turn: OpenTurn, holder: Holder): boolean =>
  turn.run_id === holder.runId &&
  turn.activity_id !== null &&
  turn.attempt !== null &&
  (turn.activity_id > holder.activityId ||
    (turn.activity_id === holder.activityId && turn.attempt > holder.attempt));

interface History {
  readonly losses: number;
  readonly spentMs: number;
}

/** A holder that neither gave back nor settled is lost, and counts up to its last sign of life. */
function historyOf(turn: OpenTurn, holder: Holder): History {
  if (turn.claimed_at_ms === null || turn.released === 1) {
    return { losses: turn.losses, spentMs: turn.spent_ms };
  }
  // The same attempt again: its first claim's COMMIT was unknown to it.
  const again =
    turn.run_id === holder.runId &&
    turn.activity_id === holder.activityId &&
    turn.attempt === holder.attempt;
  return {
    losses: turn.losses + (again ? 0 : 1),
    spentMs: turn.spent_ms + turn.alive_at_ms - turn.claimed_at_ms,
  };
}

const takeTurn = (
  claim: Claim,
  holder: Holder,
  now: History & { readonly baseVersion: number },
): Tx<number> =>
  run(
    `UPDATE et_turns SET status = 'running', fence = $5, run_id = $6, activity_id = $7, attempt = $8, released = 0,
       losses = $9, spent_ms = $10, base_version = $11, build_id = $12, claimed_at_ms = {now}, alive_at_ms = {now} WHERE ${atPlace}`,
    ...[claim.thread.tenant, claim.thread.threadId, claim.epoch, claim.seq, claim.fence],
    ...[holder.runId, holder.activityId, holder.attempt],
    ...[now.losses, now.spentMs, now.baseVersion, holder.buildId ?? null],
  );

function whyNot(
  thread: ThreadRow,
  turn: OpenTurn,
  history: History,
  limits: ClaimLimits,
): Failure | undefined {
  if (history.losses >= limits.maxLosses) {
    return {
      code: 'poison',
      message: `The worker was lost ${history.losses} times within one superstep.`,
    };
  }
  if (history.spentMs >= limits.turnTimeoutMs) {
    return { code: 'turn_deadline', message: 'The turn took longer than its deadline allows.' };
  }
  const resumed = turn.resume_version;
  if (resumed !== null && (resumed !== thread.version || thread.head_status !== 'interrupted')) {
    return { code: 'resume_stale', message: 'The thread no longer waits for this answer.' };
  }
  if (thread.head_status === 'interrupted' && isFieldEdit(turn.input)) {
    return {
      code: 'thread_interrupted',
      message: 'The thread waits for an answer; its fields can be written when it has one.',
    };
  }
  if (turn.if_version !== null && turn.if_version !== thread.version) {
    return {
      code: 'base_changed',
      message: `The turn wanted version ${turn.if_version}; the thread is at ${thread.version}.`,
    };
  }
  return undefined;
}

const names = (json: string | null): readonly string[] | null =>
  json === null ? null : (JSON.parse(json) as string[]);

function claimedTurn(found: {
  readonly claim: Claim;
  readonly thread: ThreadRow;
  readonly turn: OpenTurn;
  readonly leftMs: number;
  readonly forked: Forked | undefined;
}): ClaimedTurn {
  const { claim, thread, turn, leftMs, forked } = found;
  const head =
    thread.head_checkpoint === null || thread.head_seq === null
      ? null
      : { checkpointId: thread.head_checkpoint, seq: thread.head_seq };
  const headStatus = forked?.status ?? thread.head_status;
  return {
    claim,
    graph: turn.graph,
    input: turn.input,
    ...listenedTo(turn.stream),
    baseVersion: thread.version,
    head: forked === undefined ? head : { checkpointId: forked.checkpoint_id, seq: forked.seq },
    forks: forked !== undefined,
    ...(forked?.status === 'interrupted' && {
      waits: JSON.parse(forked.interrupts ?? '[]') as TurnInterrupt[],
    }),
    step: turn.step,
    // P7: a plain turn abandons an interrupt; P6: so does what follows a turn cut off in the middle.
    closeDangling:
      turn.input.kind !== 'resume' && headStatus !== null && headStatus !== 'committed',
    leftMs,
    waitedMs: turn.waited_ms,
    hasRows: turn.has_rows === 1,
    pendingNodes: names(turn.pending_nodes),
    ranNodes: names(turn.ran_nodes),
  };
}
