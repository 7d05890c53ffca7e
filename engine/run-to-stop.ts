import { baseValues } from './base-values.js';
import { callableIn, callOptions, recursionLimitOf } from './call.js';
import { ChunkReader, type Ended } from './chunks.js';
import { storeDeltasWhole } from './delta-channels.js';
import { finishedText } from './finished-text.js';
import { heldThreadOptions } from './held-thread.js';
import { interruptedStop } from './interrupted.js';
import { stampMessageIds } from './message-ids.js';
import { turnOutput } from './output.js';
import type { GraphRun, RunToStop, Stop } from './port.js';
import { recheck } from './recovery.js';
import { refusedStart } from './refused-start.js';
import { startInput } from './start-input.js';
import { startStatefulSubgraphs } from './stateful-subgraphs.js';
import { ownGraph } from './own-graph.js';
import { nameOf, recursionLimit, stopOfError } from './stop-of-error.js';
import { StepBorders } from './step-borders.js';
import { successorsOf } from './successors.js';
import { refuseNewer } from './versions/older-reader.js';
import { untoldInterrupts } from './versions/waiting-state.js';

export const runToStop: RunToStop = async (run) => {
  const reader = new ChunkReader(run);
  const given = new AbortController();
  const running = start(run, reader).catch((error: unknown) => errorStop(run, error));
  try {
    return await Promise.race([running, abortOf(run.signal, given.signal)]);
  } finally {
    // An aborted run may go on until its node notices; what it still does reaches nobody.
    reader.close();
    given.abort();
  }
};

const errorStop = (run: GraphRun, error: unknown): Stop =>
  run.signal.aborted
    ? { kind: 'aborted' }
    : stopOfError(error, recursionLimitOf(run), run.start.kind === 'resume');

/** LangGraph waits for nodes that do not look at their signal; the turn does not. */
function abortOf(signal: AbortSignal, done: AbortSignal): Promise<Stop> {
  return new Promise((resolve) => {
    const aborted = (): void => {
      resolve({ kind: 'aborted' });
    };
    if (signal.aborted) aborted();
    else signal.addEventListener('abort', aborted, { once: true, signal: done });
  });
}

async function start(given: GraphRun, reader: ChunkReader): Promise<Stop> {
  if (given.signal.aborted) return { kind: 'aborted' };
  given.onBegin?.();
  const run = await ownGraph(given);
  refuseNewer(run.attempt.writtenBy, run.graph.modules.versions.langgraph);
  const { attempt } = run;
  const graph = callableIn(run);
  attempt.successors = successorsOf(graph);
  const settled = refusedStart(run) ?? (await recheck(run));
  if (settled !== undefined) return settled;
  const borders = new StepBorders(run);
  if (borders.isExhausted()) return recursionLimit(recursionLimitOf(run));
  stampMessageIds(attempt.saver);
  startStatefulSubgraphs(run);
  attempt.onSuperstep = (step) => {
    reader.superstep(step);
    borders.reached(step);
  };
  run.drain.request = () => {
    borders.drainAtNext();
  };
  await storeDeltasWhole(run);
  const input = await startInput(run);
  if (run.stream && attempt.hasRows) {
    run.emit({ kind: 'text', data: { text: await finishedText(run) } });
  }
  let ended: Ended;
  try {
    const { control } = borders;
    const options = callOptions(run, { control, heldThread: heldThreadOptions(run, reader) });
    const chunks = await graph.stream(input, options);
    for await (const chunk of chunks) reader.take(chunk);
    ended = reader.end();
  } catch (error) {
    if (nameOf(error) !== 'GraphDrained') throw error;
    reader.end();
    return borders.isExhausted() ? recursionLimit(recursionLimitOf(run)) : { kind: 'yielded' };
  }
  return stopOfEnd(run, ended, borders);
}

async function stopOfEnd(run: GraphRun, ended: Ended, borders: StepBorders): Promise<Stop> {
  const interrupts = ended.interrupts ?? (await untoldInterrupts(run));
  if (interrupts !== null) return interruptedStop(run, interrupts);
  if (borders.isExhausted()) return recursionLimit(recursionLimitOf(run));
  return {
    kind: 'finished',
    output: turnOutput(ended.state, await baseValues(run), run.identity.turnId),
  };
}
