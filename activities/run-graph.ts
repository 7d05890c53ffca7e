/** Runs the graph of a claimed turn under everything that may end it: the fence, the deadlines, a drain. */
import { reachCrashPoint } from '../contracts/crash-point.js';
import type { Failure } from '../contracts/failure.js';
import type { SettledStatus } from '../contracts/protocol.js';
import type { RunListener } from '../contracts/run-event.js';
import type { RunInput } from '../contracts/turn-input.js';
import { drainSwitch } from '../engine/drain-switch.js';
import type { GraphRun, Identity, Stop } from '../engine/port.js';
import type { LoadedGraph } from '../engine/project/types.js';
import { Unstorable } from '../storage/port.js';
import type { Claim, ClaimedTurn, Flushed, Progress } from '../storage/port.js';
import type { Attempt } from '../storage/saver/port.js';
import { draftWriter } from './draft-writer.js';
import { flushSurely } from './persist.js';
import { runHooks, type RunHooks } from './run-hooks.js';
import { namesOf, runContext } from './run-context.js';
import type { RunTurnDeps } from './run-turn.js';
import type { TurnFrames } from './turn-frames.js';

export type GraphEnd =
  | { readonly kind: 'stopped'; readonly stop: Stop; readonly attempt: Attempt }
  /** Somebody else settled the turn: cancel, delete, or our own commit of an earlier attempt. */
  | { readonly kind: 'superseded'; readonly status: SettledStatus; readonly after: Progress }
  | { readonly kind: 'lost' }
  | { readonly kind: 'deadline'; readonly failure: Failure }
  /** The process stops and the run did not let go in time: another attempt goes on from what is flushed. */
  | { readonly kind: 'abandoned' };

/** Why a run was ended from outside; the first reason holds. */
type Ended =
  | { readonly kind: 'flush'; readonly outcome: Exclude<Flushed, { kind: 'flushed' }> }
  | { readonly kind: 'storage'; readonly error: Error }
  | { readonly kind: 'moved' }
  | { readonly kind: 'deadline'; readonly failure: Failure }
  | { readonly kind: 'uncaught'; readonly error: unknown }
  | { readonly kind: 'abandoned' };

/** A claimed turn that runs its graph. */
export type RunningTurn = ClaimedTurn & { readonly input: RunInput };

/** What cannot be stored is the graph's own doing; every other error of a flush is the database's. */
function whyLost(outcome: Error | Exclude<Flushed, { kind: 'flushed' }>): Ended {
  if (!(outcome instanceof Error)) return { kind: 'flush', outcome };
  return { kind: outcome instanceof Unstorable ? 'uncaught' : 'storage', error: outcome };
}

export async function runGraph(
  deps: RunTurnDeps,
  turn: RunningTurn,
  graph: LoadedGraph,
  frames: TurnFrames,
): Promise<GraphEnd> {
  const { claim } = turn;
  frames.running = turn.pendingNodes ?? [];
  const stopper = new AbortController();
  let ended: Ended | undefined;
  const end = (why: Ended): void => {
    ended ??= why;
    stopper.abort();
  };
  const runner = deps.runnerOf(graph);
  const attempt = await runner.openAttempt({
    turn,
    checkpoint: graph.modules.checkpoint,
    writerVersion: graph.modules.versions.langgraph,
    flush: async (held, rows) => {
      reachCrashPoint('before-flush', claim.thread.threadId);
      const flushed = await flushSurely(deps.storage.claims, held, rows, stopper.signal);
      reachCrashPoint('after-flush', claim.thread.threadId);
      frames.running = rows.superstep?.next ?? frames.running;
      return flushed;
    },
    // A static breakpoint is passed by null, which may be repeated; an answer may not reach the next question (P5).
    hold: turn.input.kind === 'resume' && turn.input.value !== null && turn.step === 0,
  });
  attempt.onLost = (outcome) => end(whyLost(outcome));
  const drain = drainSwitch();
  const releases = [...watchers(deps, turn, frames, { end, drain })];
  const hooks = runHooks(
    deps,
    { ...namesOf(turn), isolation: graph.isolation },
    frames,
    (failure) => end({ kind: 'deadline', failure }),
  );
  releases.push(hooks.end);
  try {
    const tell = deps.listen?.(turn);
    const run = graphRun(turn, graph, { attempt, hooks, drain, tell, signal: stopper.signal });
    const fail = (error: unknown): void => end({ kind: 'uncaught', error });
    const context = { ...namesOf(turn), fail };
    const stop = await runContext.run(context, () => runner.runToStop(run));
    if (ended === undefined) return { kind: 'stopped', stop, attempt };
    if (ended.kind === 'uncaught')
      return { kind: 'stopped', stop: { kind: 'threw', error: ended.error }, attempt };
    attempt.drop();
    return await afterEnd(deps, claim, ended);
  } catch (error) {
    attempt.drop();
    throw error;
  } finally {
    for (const release of releases) release();
  }
}

const graphRun = (
  turn: RunningTurn,
  graph: LoadedGraph,
  run: {
    readonly attempt: Attempt;
    readonly hooks: RunHooks;
    readonly drain: { request: () => void };
    readonly tell: RunListener | undefined;
    readonly signal: AbortSignal;
  },
): GraphRun => ({
  graph,
  attempt: run.attempt,
  start: turn.input,
  identity: identityOf(turn, graph),
  ...(turn.input.call !== undefined && { call: turn.input.call }),
  finishedSteps: turn.step,
  recovered:
    turn.pendingNodes === null ? null : { pending: turn.pendingNodes, ran: turn.ranNodes ?? [] },
  closeDangling: turn.closeDangling,
  forks: turn.forks,
  stream: turn.stream,
  modes: turn.modes,
  signal: run.signal,
  slice: graph.slice ?? 'turn',
  drain: run.drain,
  onBegin: run.hooks.begin,
  ...(run.tell !== undefined && { tell: run.tell }),
  emit: (frame) => {
    run.hooks.emit(frame);
    if (frame.kind === 'token') reachCrashPoint('mid-stream', turn.claim.thread.threadId);
  },
});

export const identityOf = ({ claim, input }: ClaimedTurn, graph: LoadedGraph): Identity => ({
  threadId: claim.thread.threadId,
  turnId: claim.turnId,
  graphId: graph.name,
  tenant: claim.thread.tenant,
  ...('userId' in input && { userId: input.userId }),
});

/** Everything that watches the run from outside; each entry ends one of them. */
function watchers(
  deps: RunTurnDeps,
  turn: ClaimedTurn,
  frames: TurnFrames,
  run: { readonly end: (why: Ended) => void; readonly drain: { request: () => void } },
): readonly (() => void)[] {
  const { claim } = turn;
  const { live, relay, settings, storage } = deps;
  const releases = [
    live.watch(claim, (look) => {
      if (look.fence !== claim.fence) run.end({ kind: 'moved' });
      // A viewer came: the next superstep streams what it asks for (DESIGN 15.2).
      else if ((look.stream && !turn.stream) || (look.modes & ~turn.modes) !== 0) {
        run.drain.request();
      }
    }),
    relay.onWake(claim.turnId, (fence) => {
      if (fence !== claim.fence) live.look();
    }),
    live.onDrain(() => run.drain.request()),
    live.onAbandon(() => run.end({ kind: 'abandoned' })),
    deadline(turn.leftMs, () =>
      run.end({
        kind: 'deadline',
        failure: {
          code: 'turn_deadline',
          message: 'The turn took longer than it may (EVERTHREAD_TURN_TIMEOUT).',
        },
      }),
    ),
  ];
  if (settings.drafts) releases.push(draftWriter(storage.claims, claim, frames));
  return releases;
}

function deadline(leftMs: number, onLate: () => void): () => void {
  const timer = setTimeout(onLate, Math.max(leftMs, 0));
  return () => clearTimeout(timer);
}

/** The run was ended from outside: says what the row says. */
async function afterEnd(
  deps: RunTurnDeps,
  claim: Claim,
  ended: Exclude<Ended, { kind: 'uncaught' }>,
): Promise<GraphEnd> {
  switch (ended.kind) {
    case 'deadline':
    case 'abandoned':
      return ended;
    case 'storage':
      throw ended.error;
    case 'flush':
      return fromOutcome(ended.outcome);
    case 'moved': {
      const found = await deps.storage.claims.lookUp(claim);
      return found.kind === 'settled_before' ? fromOutcome(found) : { kind: 'lost' };
    }
  }
}

const fromOutcome = (outcome: Exclude<Flushed, { kind: 'flushed' }>): GraphEnd =>
  outcome.kind === 'settled_before'
    ? { kind: 'superseded', status: outcome.status, after: outcome.after }
    : { kind: 'lost' };
