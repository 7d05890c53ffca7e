/** A turn that changes the state without running the graph (F1): the same claim, the same settling transaction. */
import type { EditInput } from '../contracts/turn-input.js';
import { editState } from '../engine/edit-state.js';
import type { Stop } from '../engine/port.js';
import type { LoadedGraph } from '../engine/project/types.js';
import { CommitUnknown, StorageUnavailable } from '../storage/port.js';
import type { ClaimedTurn } from '../storage/port.js';
import type { Attempt } from '../storage/saver/port.js';
import { identityOf, type GraphEnd } from './run-graph.js';
import type { RunTurnDeps } from './run-turn.js';

export async function editTurn(
  deps: RunTurnDeps,
  turn: ClaimedTurn,
  graph: LoadedGraph,
  edit: EditInput,
): Promise<Extract<GraphEnd, { kind: 'stopped' }>> {
  const { checkpoint, versions } = graph.modules;
  // In this thread, also for an isolated graph: nothing of the project runs but its schema.
  const attempt = await deps.storage.openAttempt({
    turn,
    checkpoint,
    writerVersion: versions.langgraph,
    flush: (held, rows) => deps.storage.claims.flush(held, rows),
    hold: false,
  });
  const { closeDangling } = turn;
  const run = { graph, attempt, edit, closeDangling, identity: identityOf(turn, graph) };
  return { kind: 'stopped', stop: await stopOf(editState(run), attempt), attempt };
}

/** A database that is away is no fault of the edit; a schema that throws is, and gets the tries of a node. */
async function stopOf(editing: Promise<Stop>, attempt: Attempt): Promise<Stop> {
  try {
    return await editing;
  } catch (error) {
    if (!(error instanceof StorageUnavailable || error instanceof CommitUnknown)) {
      return { kind: 'threw', error };
    }
    attempt.drop();
    throw error;
  }
}
