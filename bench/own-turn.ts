/** A turn without HTTP and Temporal: accept, claim, run, commit in this process. What it leaves in a database is the same. */
import * as messages from '@langchain/core/messages';
import * as langgraph from '@langchain/langgraph';
import * as checkpoint from '@langchain/langgraph-checkpoint';
import { noModes } from '../contracts/stream-modes.js';
import type { PregelGraph } from '../engine/project/types.js';
import { runToStop } from '../engine/run-to-stop.js';
import type { Storage } from '../storage/port.js';
import { Scenario } from '../test/support/storage-scenario.js';

const versions = { langgraph: '1.7.3', core: '1.4.0', checkpoint: '1.2.2' };
const modules = { langgraph, messages, checkpoint, versions };

/** Turns of one thread, one after the other. */
export function ownTurns(
  storage: Storage,
  graph: PregelGraph,
  threadId: string,
): (text: string) => Promise<void> {
  const scenario = new Scenario(storage, { threadId });
  return async (text) => {
    await scenario.turn({ input: { kind: 'message', text } });
    const turn = await scenario.claimed();
    const { claim } = turn;
    const attempt = await storage.openAttempt({
      ...{ turn, checkpoint, writerVersion: versions.langgraph, hold: false },
      flush: (held, rows) => storage.claims.flush(held, rows),
    });
    const { tenant } = claim.thread;
    const stop = await runToStop({
      ...{ attempt, start: { kind: 'message', text }, finishedSteps: 0, recovered: null },
      graph: { name: 'chat', graph, modules },
      identity: { threadId, turnId: claim.turnId, graphId: 'chat', tenant },
      ...{ closeDangling: false, stream: false, modes: noModes, slice: 'turn' },
      signal: new AbortController().signal,
      drain: { request: () => undefined },
      emit: () => undefined,
    });
    if (stop.kind !== 'finished') throw new Error(`the graph stopped: ${stop.kind}`);
    const rows = await attempt.finish();
    const checkpointId = attempt.headCheckpointId() ?? '';
    await scenario.commit(claim, { checkpointId, ...stop.output }, rows);
    attempt.keep();
  };
}
