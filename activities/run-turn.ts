/** The activity of a thread: claims the earliest unsettled turn, has the engine run it, settles it (DESIGN 4, items 3 and 4). */
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { Logger } from 'pino';
import { setTimeout as pause } from 'node:timers/promises';
import { reachCrashPoint } from '../contracts/crash-point.js';
import type { FrameBody, Relay } from '../contracts/frames.js';
import type { RunTurnInput, RunTurnResult, TurnProgress } from '../contracts/protocol.js';
import type { ListenToRuns } from '../contracts/run-event.js';
import { isEdit } from '../contracts/turn-input.js';
import type { Runner } from '../engine/port.js';
import type { LoadedGraph } from '../engine/project/types.js';
import type { Claimed, ClaimedTurn, Storage } from '../storage/port.js';
import { editTurn } from './edit-turn.js';
import type { DatabaseSight } from './database-sight.js';
import { foreignStore, isStorageAway, staleFence, tryAgain } from './failures.js';
import type { LiveRuns } from './live-runs.js';
import type { LoopWatch } from './loop-watch.js';
import { placeOn, queueOf, type Placement } from './placement.js';
import { namesOf } from './run-context.js';
import { runGraph } from './run-graph.js';
import { countTry, release, resultOf, settleFailed, settleStop } from './settle-turn.js';
import { turnFrames } from './turn-frames.js';
import type { TurnFrames } from './turn-frames.js';

export interface RunTurnDeps {
  readonly storage: Storage;
  readonly relay: Relay;
  readonly graphs: ReadonlyMap<string, LoadedGraph>;
  readonly runnerOf: (graph: LoadedGraph) => Runner;
  readonly live: LiveRuns;
  readonly sight: DatabaseSight;
  readonly loop: LoopWatch;
  readonly settings: RunTurnSettings;
  readonly placement: Placement;
  /** Hears what runs within turns, for traces and metrics; absent where neither is on. */
  readonly listen?: ListenToRuns | undefined;
  readonly log: Logger;
}

export interface RunTurnSettings {
  /** Longest time under claim, by the database's clock. */
  readonly turnTimeoutMs: number;
  /** Longest time of one superstep. */
  readonly stepTimeoutMs: number;
  /** How long an idle workflow stays; null for ever. */
  readonly threadIdleMs: number | null;
  /** Drafts serve late joiners in other processes; one process shows what it has streamed itself. */
  readonly drafts: boolean;
  /** Stands on each turn that this worker claims (V1); absent, or without a build id, for an unversioned one. */
  readonly deployment?: { readonly buildId: string | null };
}

/** Ten lost workers within one superstep are its own doing (P3). */
const maxLosses = 10;
/** Two ticks fit into the heartbeat time-out of 5 s, so one late tick loses nothing. */
const heartbeatMs = 2_000;
/** A graph that this worker lacks may be served by another one of a rolling deploy. */
const maxGraphTries = 3;
/** A database that is away is asked again this soon, on any worker. */
const storagePauseMs = 500;
/**
 * Two workers whose projects disagree about a graph's place would send its turn to and fro; one that lies on a queue of
 * its own answers late, so that they do so slowly.
 */
const misplacedPauseMs = 1_000;
/** The gateways look at the row now instead of at their next poll. */
const wakeFrame: FrameBody = { kind: 'wake', data: null };

export const createRunTurn =
  (deps: RunTurnDeps) =>
  async ({ thread }: RunTurnInput): Promise<RunTurnResult> => {
    if (thread.store !== deps.storage.store) throw foreignStore();
    const context = Context.current();
    const { activityId, attempt, taskQueue, workflowExecution } = context.info;
    const { workflowId = '', runId = '' } = workflowExecution ?? {};
    const progress: Tracked = { now: undefined, frames: undefined };
    const heart = setInterval(() => {
      if (!deps.sight.isLost()) context.heartbeat(progressOf(progress)); // T7
    }, heartbeatMs);
    try {
      if (!deps.sight.answers()) throw tryAgain('StorageUnavailable', storagePauseMs);
      return await deps.live.adopt(`${workflowId}/${runId}/${activityId}`, async () => {
        const { turnTimeoutMs, deployment } = deps.settings;
        const holder = { runId, activityId: Number(activityId), attempt, ...buildOf(deployment) };
        reachCrashPoint('before-claim', thread.threadId);
        const claimed = await deps.storage.claims.claim(thread, holder, {
          turnTimeoutMs,
          maxLosses,
          here: (graph) => queueOf(deps.placement, graph) === taskQueue,
        });
        reachCrashPoint('after-claim', thread.threadId);
        if (claimed.kind === 'elsewhere') return await sentOn(deps, claimed, taskQueue);
        // The thread's next turn is likely to be of the same graph.
        const place = placeOn(deps.placement, taskQueue);
        return { ...(await afterClaim(deps, claimed, progress)), ...place };
      });
    } catch (error) {
      const { now } = progress;
      const names = now === undefined ? { thread: thread.threadId } : namesOf(now);
      throw crossing(deps, error, { ...names, attempt });
    } finally {
      clearInterval(heart);
    }
  };

/** The turn belongs on another queue (Q1). */
async function sentOn(
  deps: RunTurnDeps,
  { graph, after }: Extract<Claimed, { kind: 'elsewhere' }>,
  from: string,
): Promise<RunTurnResult> {
  const queue = queueOf(deps.placement, graph);
  if (from !== deps.placement.main) {
    deps.log.warn({ graph, from, queue }, 'a turn was on the wrong task queue; it is sent on');
    await pause(misplacedPauseMs);
  }
  return { ...resultOf(deps, 'elsewhere', after), ...placeOn(deps.placement, queue) };
}

/** What crosses Temporal is a code (A6): the words of an error nobody expected stay in this process' log. */
function crossing(deps: RunTurnDeps, error: unknown, about: object): Error {
  if (error instanceof ApplicationFailure) return told(deps, error, about);
  // An unknown COMMIT of a claim or of a yield is no riddle: the next attempt finds what has become of it.
  if (isStorageAway(error))
    return told(deps, tryAgain('StorageUnavailable', storagePauseMs), about);
  deps.log.error({ ...about, err: error }, 'runTurn broke');
  return tryAgain('Internal');
}

/** Codes that no other line of the log has told. */
const untold = new Set(['StorageUnavailable', 'StaleFence', 'graph_missing']);

function told(deps: RunTurnDeps, failure: ApplicationFailure, about: object): ApplicationFailure {
  const { type: code } = failure;
  if (untold.has(code ?? '')) deps.log.warn({ ...about, code }, 'a try ended; another one follows');
  return failure;
}

/** What the heartbeat tells; set once the turn is claimed. */
interface Tracked {
  now: ClaimedTurn | undefined;
  frames: TurnFrames | undefined;
}

const buildOf = (deployment: RunTurnSettings['deployment']) =>
  deployment?.buildId == null ? {} : { buildId: deployment.buildId };

/** Where the turn is; null before it is claimed. */
function progressOf({ now, frames }: Tracked): TurnProgress | null {
  if (now === undefined || frames === undefined) return null;
  return { seq: now.claim.seq, step: frames.step, nodes: frames.running };
}

async function afterClaim(
  deps: RunTurnDeps,
  claimed: Exclude<Claimed, { kind: 'elsewhere' }>,
  progress: Tracked,
): Promise<RunTurnResult> {
  switch (claimed.kind) {
    case 'idle':
      return resultOf(deps, 'idle', claimed.after);
    case 'refused':
      throw staleFence();
    case 'failed':
      turnFrames(deps.relay, claimed.claim, 0).emit(wakeFrame);
      return { ...resultOf(deps, 'failed', claimed.after), seq: claimed.claim.seq };
    case 'claimed': {
      const { turn } = claimed;
      const frames = turnFrames(deps.relay, turn.claim, turn.step);
      progress.now = turn;
      progress.frames = frames;
      const result = await runClaimed(deps, turn, frames);
      deps.log.debug({ ...namesOf(turn), status: result.status }, 'a turn ran');
      frames.emit(wakeFrame);
      reachCrashPoint('before-ack', turn.claim.thread.threadId);
      return { ...result, seq: turn.claim.seq, steps: frames.steps };
    }
  }
}

async function runClaimed(
  deps: RunTurnDeps,
  turn: ClaimedTurn,
  frames: TurnFrames,
): Promise<RunTurnResult> {
  const graph = deps.graphs.get(turn.graph);
  if (graph === undefined) {
    const message = `This worker serves no graph named "${turn.graph}".`;
    return await countTry(deps, turn, {
      failure: { code: 'graph_missing', message },
      maxTries: maxGraphTries,
    });
  }
  const { input } = turn;
  if (isEdit(input)) return await settleStop(deps, turn, await editTurn(deps, turn, graph, input));
  const end = await runGraph(deps, { ...turn, input }, graph, frames);
  switch (end.kind) {
    case 'stopped':
      return await settleStop(deps, turn, end);
    case 'superseded':
      return resultOf(deps, end.status, end.after);
    case 'lost':
      throw staleFence();
    case 'deadline':
      return await settleFailed(deps, turn, end.failure);
    case 'abandoned':
      return await release(deps, turn);
  }
}
