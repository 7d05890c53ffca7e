/** How a run of the graph becomes the turn's end, or another try. */
import { Context } from '@temporalio/activity';
import { reachCrashPoint } from '../contracts/crash-point.js';
import type { Failure } from '../contracts/failure.js';
import type { RunLimit, RunTurnResult } from '../contracts/protocol.js';
import type { Stop } from '../engine/port.js';
import { Unstorable } from '../storage/port.js';
import type { ClaimedTurn, Progress, Settled, Settlement } from '../storage/port.js';
import type { FlushRows } from '../storage/saver/port.js';
import { isStorageAway, judge, pauseMs, staleFence, tryAgain, unstorable } from './failures.js';
import { settleSurely } from './persist.js';
import type { GraphEnd } from './run-graph.js';
import type { RunTurnDeps } from './run-turn.js';

/** Turns the engine's stop into the turn's end, or into another try. */
export async function settleStop(
  deps: RunTurnDeps,
  turn: ClaimedTurn,
  end: Extract<GraphEnd, { kind: 'stopped' }>,
): Promise<RunTurnResult> {
  const { stop, attempt } = end;
  switch (stop.kind) {
    case 'finished':
    case 'interrupted': {
      const checkpointId = attempt.headCheckpointId();
      if (checkpointId === null) {
        return await settleFailed(deps, turn, {
          code: 'node_error',
          message: 'The graph ran no step.',
        });
      }
      const result = await settle(deps, turn, settlementOf(stop, checkpointId), () =>
        attempt.finish(),
      );
      if (result.status === 'committed' || result.status === 'interrupted') attempt.keep();
      else attempt.drop();
      return result;
    }
    case 'yielded':
      attempt.keep();
      return await release(deps, turn);
    case 'failed':
      attempt.drop();
      return await settleFailed(deps, turn, stop.failure);
    case 'threw': {
      attempt.drop();
      // The database failed a node that reads or writes memory: no try of the graph's, and never the end of its turn.
      if (isStorageAway(stop.error)) throw stop.error;
      const verdict = judge(stop.error);
      logThrown(deps, turn, verdict.failure.code, stop.error);
      if (verdict.kind === 'final') return await settleFailed(deps, turn, verdict.failure);
      return await countTry(deps, turn, verdict);
    }
    case 'aborted':
      attempt.drop();
      throw staleFence();
  }
}

/** Gives the turn back: the next `runTurn`, here or elsewhere, goes on from what is flushed. */
export async function release(deps: RunTurnDeps, turn: ClaimedTurn): Promise<RunTurnResult> {
  const outcome = await deps.storage.claims.yield(turn.claim);
  reachCrashPoint('after-yield', turn.claim.thread.threadId);
  switch (outcome.kind) {
    case 'flushed': {
      const settledThrough = turn.claim.seq - 1;
      return resultOf(deps, 'yielded', { settledThrough, more: true, deleted: false });
    }
    case 'settled_before':
      return resultOf(deps, outcome.status, outcome.after);
    case 'fence_lost':
      throw staleFence();
  }
}

const settlementOf = (
  stop: Extract<Stop, { kind: 'finished' | 'interrupted' }>,
  checkpointId: string,
): Settlement => ({
  kind: stop.kind === 'finished' ? 'committed' : 'interrupted',
  checkpointId,
  ...stop.output,
  interrupts: stop.kind === 'interrupted' ? stop.interrupts : [],
  next: stop.kind === 'interrupted' ? stop.next : [],
});

export const settleFailed = (
  deps: RunTurnDeps,
  turn: ClaimedTurn,
  failure: Failure,
): Promise<RunTurnResult> => settle(deps, turn, { kind: 'failed', failure }, noRows);

const noRows = (): Promise<null> => Promise.resolve(null);

async function settle(
  deps: RunTurnDeps,
  turn: ClaimedTurn,
  settlement: Settlement,
  finish: () => Promise<FlushRows | null>,
): Promise<RunTurnResult> {
  const never = new AbortController().signal;
  try {
    const work = { settlement, rows: await finish() };
    return fromSettled(deps, await settleSurely(deps.storage.claims, turn.claim, work, never));
  } catch (error) {
    if (!(error instanceof Unstorable)) throw error;
    const work = { settlement: { kind: 'failed', failure: unstorable } as const, rows: null };
    return fromSettled(deps, await settleSurely(deps.storage.claims, turn.claim, work, never));
  }
}

/** Counts a failed try; below the limit Temporal starts the next one after a pause (P3). */
export async function countTry(
  deps: RunTurnDeps,
  turn: ClaimedTurn,
  again: { readonly failure: Failure; readonly maxTries: number; readonly retryAfterMs?: number },
): Promise<RunTurnResult> {
  const outcome = await deps.storage.claims.failTry(turn.claim, again.failure, again.maxTries);
  if (outcome.kind === 'retry') {
    throw tryAgain(again.failure.code, again.retryAfterMs ?? pauseMs(outcome.tries));
  }
  return fromSettled(deps, outcome);
}

function fromSettled(deps: RunTurnDeps, settled: Settled): RunTurnResult {
  switch (settled.kind) {
    case 'settled':
    case 'settled_before':
      return resultOf(deps, settled.status, settled.after);
    case 'fence_lost':
      throw staleFence();
  }
}

/**
 * A cold replay costs about a millisecond of CPU per event, one run after the other, and must be done within a workflow task's
 * time-out: twelve busy threads that all had to be replayed at a thousand events were never done. The look with which a
 * run begins costs about one turn in a hundred.
 */
const runLimit: RunLimit = { turns: 40, events: 300, signals: 300 };

export const resultOf = (
  deps: RunTurnDeps,
  status: RunTurnResult['status'],
  after: Progress,
): RunTurnResult => ({
  status,
  settledThrough: after.settledThrough,
  more: after.more,
  ...(after.deleted ? { deleted: true } : {}),
  idleMs: deps.settings.threadIdleMs,
  limit: runLimit,
});

/** The log writes an error's words only at `debug`: they may quote a prompt. */
function logThrown(deps: RunTurnDeps, turn: ClaimedTurn, code: string, error: unknown): void {
  const { claim, graph } = turn;
  const { threadId } = claim.thread;
  const { attempt } = Context.current().info;
  deps.log.warn(
    { thread: threadId, turn: claim.turnId, graph, attempt, code, err: error },
    'a try failed (LOG_LEVEL=debug shows the words of its error)',
  );
}
