/** A turn that changes the state without running the graph (F1): the same claim, the same settling transaction. */
import type { Failure } from '../contracts/failure.js';
import type { EditInput } from '../contracts/turn-input.js';
import { editState } from '../engine/edit-state.js';
import type { Stop } from '../engine/port.js';
import type { LoadedGraph } from '../engine/project/types.js';
import type { ClaimedTurn } from '../storage/port.js';
import { isStorageAway, judge } from './failures.js';
import { identityOf, type GraphEnd } from './run-graph.js';
import type { RunTurnDeps } from './run-turn.js';

export async function editTurn(
  deps: RunTurnDeps,
  turn: ClaimedTurn,
  graph: LoadedGraph,
  edit: EditInput,
): Promise<Extract<GraphEnd, { kind: 'stopped' }>> {
  const { checkpoint, versions } = graph.modules;
  // In this thread, also for an isolated graph: no node of it runs.
  const attempt = await deps.storage.openAttempt({
    turn,
    checkpoint,
    writerVersion: versions.langgraph,
    flush: (held, rows) => deps.storage.claims.flush(held, rows),
    // An edit is not repeatable on its own result: all of it is in the settling transaction.
    hold: true,
  });
  const { closeDangling, waits } = turn;
  const run = { graph, attempt, edit, closeDangling, identity: identityOf(turn, graph) };
  const editing = editState({ ...run, ...(waits !== undefined && { waits }) });
  const limitMs = Math.min(turn.leftMs, deps.settings.stepTimeoutMs);
  return { kind: 'stopped', stop: await stopOf(inTime(editing, limitMs), edit), attempt };
}

/** A reducer or an edge that never ends would hold the thread for ever. */
async function inTime(editing: Promise<Stop>, limitMs: number): Promise<Stop> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Stop>((resolve) => {
    timer = setTimeout(() => resolve(tooLate), limitMs);
  });
  try {
    return await Promise.race([editing, late]);
  } finally {
    clearTimeout(timer);
  }
}

const tooLate: Stop = {
  kind: 'failed',
  failure: {
    code: 'step_deadline',
    message: 'The edit took longer than it may (EVERTHREAD_STEP_TIMEOUT).',
  },
};

/**
 * A schema that throws gets the tries of a node. What a reducer or an edge throws at the values of an update is its refusal of
 * them (F5).
 */
async function stopOf(editing: Promise<Stop>, edit: EditInput): Promise<Stop> {
  try {
    return await editing;
  } catch (error) {
    return edit.kind === 'update_state' && isRefusal(error)
      ? { kind: 'failed', failure: refused }
      : { kind: 'threw', error };
  }
}

function isRefusal(error: unknown): boolean {
  if (isStorageAway(error)) return false;
  const { failure } = judge(error);
  return failure.code === 'node_error' || failure.code === 'state_shape';
}

const refused: Failure = {
  code: 'invalid_update',
  message: "The graph's own code refuses these values.",
};
