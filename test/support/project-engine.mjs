/**
 * Runs the graphs of a project as LangGraph does by itself, and by the engine under attempts that die at each flush. Prints
 * how each turn ended, as JSON. A child on plain Node: loading a project changes the process.
 * Usage: node project-engine.mjs <dist> <project folder>
 */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { turnsOf } from './project-turns.mjs';

const [dist, folder] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(`${dist}/${file}.js`).href);
const { loadProject } = await load('engine/project/load-project');
const { runToStop } = await load('engine/run-to-stop');
const { callable } = await load('engine/call');
const { withSaver } = await load('engine/versions/saver-copy');
const { canonicalJson } = await load('engine/plain-json');
const { isMessageObject, transcriptMessage } = await load('engine/transcript');
const { openStorage } = await load('storage/open');

const bare = (value) =>
  canonicalJson(value, (v) => {
    if (!isMessageObject(v)) return undefined;
    return { ...transcriptMessage(v, ''), id: undefined };
  });

const shown = ({ values, next, tasks }) => ({
  values: bare(values),
  next,
  // Each once: MemorySaver before 0.0.10 keeps what a task asked each time that it was run.
  interrupts: [
    ...new Set(tasks.flatMap((t) => (t.interrupts ?? []).map((i) => JSON.stringify(i.value)))),
  ],
});

async function plainly({ graph, modules }, turns) {
  const own = withSaver(graph, new modules.checkpoint.MemorySaver());
  const config = { configurable: { thread_id: 't' } };
  const ends = [];
  for (const [i, turn] of turns.entries()) {
    await own.invoke(plainInput(modules, turn, `turn-${i}`), config);
    ends.push(shown(await own.getState(config)));
  }
  return ends;
}

function plainInput({ messages, langgraph }, turn, id) {
  if (turn.kind === 'message')
    return { messages: [new messages.HumanMessage({ content: turn.text, id })] };
  return turn.value === null ? null : new langgraph.Command({ resume: turn.value });
}

class Crash extends Error {}

/** One thread of the graph; in each turn the first attempt dies at flush `crashAt`. */
async function driven(storage, loaded, turns, crashAt) {
  const thread = { tenant: 'default', threadId: randomUUID() };
  let activityId = 0;
  let crashes = 0;
  const claimed = async () => {
    const holder = { runId: 'run', activityId: ++activityId, attempt: 1 };
    const limits = { turnTimeoutMs: 600_000, maxLosses: 10 };
    const found = await storage.claims.claim({ ...thread, store: storage.store }, holder, limits);
    if (found.kind !== 'claimed') throw new Error(`not claimed: ${found.kind}`);
    return found.turn;
  };
  const accept = (input) =>
    storage.turns.accept({
      ...{ thread, turnId: randomUUID(), defaultGraph: loaded.name, input, digest: '' },
      ...{ multitask: 'enqueue', stream: false, maxPending: 9 },
    });
  const ends = [];
  for (const turn of turns) {
    const accepted = await accept(turn);
    if (accepted.kind !== 'accepted') throw new Error(`not accepted: ${accepted.kind}`);
    for (let dies = crashAt; ; dies = undefined) {
      const end = await attempted({ storage, loaded, turn: await claimed(), dies });
      if (end === 'done') break;
      crashes += 1;
    }
    ends.push(shown(await stateOf({ storage, loaded, accept, claimed })));
  }
  return { ends, crashes };
}

async function attempted({ storage, loaded, turn, dies }) {
  const ended = new globalThis.AbortController();
  let flushes = 0;
  const flush = () => {
    if (++flushes === dies) throw new Crash('the process is gone');
  };
  const attempt = await storage.openAttempt({
    turn,
    checkpoint: loaded.modules.checkpoint,
    writerVersion: loaded.modules.versions.langgraph,
    hold: turn.input.kind === 'resume' && turn.input.value !== null && turn.step === 0,
    verify: true,
    flush: async (claim, rows) => {
      flush();
      return storage.claims.flush(claim, rows);
    },
  });
  attempt.onLost = () => ended.abort();
  const stop = await runToStop({
    graph: loaded,
    attempt,
    start: turn.input,
    identity: {
      ...turn.claim.thread,
      turnId: turn.claim.turnId,
      graphId: loaded.name,
      userId: 'u',
    },
    finishedSteps: turn.step,
    recovered: turn.pendingNodes && { pending: turn.pendingNodes, ran: turn.ranNodes ?? [] },
    closeDangling: turn.closeDangling,
    stream: false,
    signal: ended.signal,
    slice: 'turn',
    drain: { request: () => undefined },
    emit: () => undefined,
  });
  if (stop.kind === 'threw') throw stop.error;
  if (stop.kind === 'failed') throw new Error(stop.failure.message);
  if (stop.kind === 'aborted') return 'died';
  const rows = await attempt.finish();
  try {
    flush();
  } catch {
    attempt.drop();
    return 'died';
  }
  const waits = stop.kind === 'interrupted';
  await storage.claims.settle(
    turn.claim,
    {
      ...stop.output,
      kind: waits ? 'interrupted' : 'committed',
      checkpointId: attempt.headCheckpointId(),
      interrupts: waits ? stop.interrupts : [],
      next: waits ? stop.next : [],
    },
    rows,
  );
  if (turn.claim.seq % 2 === 0) attempt.keep();
  else attempt.drop();
  return 'done';
}

/** What a reader of the thread sees: through a turn that fails and so leaves nothing. */
async function stateOf({ storage, loaded, accept, claimed }) {
  await accept({ kind: 'message', text: 'only reads' });
  const turn = await claimed();
  const attempt = await storage.openAttempt({
    ...{ turn, checkpoint: loaded.modules.checkpoint, hold: false },
    writerVersion: loaded.modules.versions.langgraph,
    flush: () => Promise.reject(new Error('only reads')),
  });
  const configurable = { thread_id: 't', __pregel_checkpointer: attempt.saver };
  const graph = withSaver(callable(loaded.graph), attempt.saver);
  const state = await graph.getState({ configurable });
  const failure = { code: 'node_error', message: 'only read' };
  await storage.claims.settle(turn.claim, { kind: 'failed', failure }, null);
  return state;
}

const project = await loadProject(path.join(folder, 'langgraph.json'), { env: process.env });
const storage = await openStorage({ kind: 'memory' }, { autoMigrate: true });
const graphs = {};
for (const [name, loaded] of project.graphs) {
  const turns = turnsOf(name);
  const plain = await plainly(loaded, turns);
  const runs = [];
  for (let crashAt = 0; ; crashAt += 1) {
    const run = await driven(storage, loaded, turns, crashAt || undefined);
    runs.push(run);
    if (crashAt > 0 && run.crashes === 0) break;
  }
  graphs[name] = { plain, runs };
}
await storage.close();
const { failures, warnings, modules } = project;
console.log(
  JSON.stringify({
    ...{ graphs, warnings, versions: modules.versions },
    failures: failures.map((f) => f.message),
  }),
);
