/**
 * Reports nodes that hold the event loop: everything else in the process waits meanwhile, other threads' tokens included.
 * One timer for the whole process, and a look at the clock for each frame: what cannot be measured cannot slow a turn.
 */
import type { Logger } from 'pino';
import type { FrameBody } from '../contracts/frames.js';

/** A reader of a stream sees a pause this long; a collection of garbage or a large state of ours stays below it. */
const heldMs = 200;
const tickMs = 100;

/** A run, as the log names it. */
export interface NamedRun {
  readonly graph: string;
  readonly thread: string;
  readonly turn: string;
}

export interface LoopWatch {
  /** Watches a run whose nodes run in this thread. */
  watch(run: NamedRun): WatchedRun;
  close(): void;
}

export interface WatchedRun {
  /** A step's frame tells which nodes ran. */
  saw(frame: FrameBody): void;
  end(): void;
}

interface Run extends NamedRun {
  readonly beganMs: number;
  lastFrameMs: number;
  /** Longest time that the loop was held while this run was at work; 0 when it was not. */
  suspectMs: number;
}

export function loopWatch(log: Pick<Logger, 'warn'>): LoopWatch {
  const runs = new Set<Run>();
  let dueMs = performance.now() + tickMs;
  const tick = (): void => {
    const nowMs = performance.now();
    const lateMs = nowMs - dueMs;
    if (lateMs >= heldMs) suspect(lateMs);
    dueMs = nowMs + tickMs;
  };
  /** Who streamed while nobody else could is told by its frame; otherwise whoever ends a step first had it in hand. */
  const suspect = (lateMs: number): void => {
    const present = [...runs].filter((run) => run.beganMs <= performance.now() - heldMs);
    const heard = present.filter((run) => run.lastFrameMs > dueMs);
    for (const run of heard.length > 0 ? heard : present) {
      run.suspectMs = Math.max(run.suspectMs, lateMs);
    }
  };
  const blame = (run: Run, nodes: readonly string[]): void => {
    const ms = Math.round(run.suspectMs);
    const { graph, thread, turn } = run;
    log.warn(
      { thread, turn, graph, nodes, ms },
      'a node held the event loop (isolation: see README)',
    );
    for (const other of runs) other.suspectMs = 0;
  };
  const timer = setInterval(tick, tickMs);
  timer.unref();
  return {
    watch({ graph, thread, turn }) {
      const beganMs = performance.now();
      const run: Run = { graph, thread, turn, beganMs, lastFrameMs: beganMs, suspectMs: 0 };
      runs.add(run);
      return {
        saw(frame) {
          run.lastFrameMs = performance.now();
          // The step may end in the same turn of the loop, ahead of the timer.
          if (frame.kind !== 'step') return;
          if (run.lastFrameMs - dueMs >= heldMs) tick();
          if (run.suspectMs > 0) blame(run, frame.data.nodes);
        },
        end() {
          runs.delete(run);
          if (run.suspectMs > 0) blame(run, []);
        },
      };
    },
    close: () => clearInterval(timer),
  };
}
