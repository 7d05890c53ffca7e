/** What hears of a run as it goes: its frames, the clock of its supersteps, and who holds the event loop. */
import type { Failure } from '../contracts/failure.js';
import type { FrameBody } from '../contracts/frames.js';
import type { LoadedGraph } from '../engine/project/types.js';
import type { NamedRun } from './loop-watch.js';
import type { RunTurnDeps } from './run-turn.js';
import type { TurnFrames } from './turn-frames.js';

export interface RunHooks {
  /** The graph itself begins; a run may have waited for a thread until now, which is no step. */
  readonly begin: () => void;
  readonly emit: (frame: FrameBody) => void;
  readonly end: () => void;
}

const stepDeadline: Failure = {
  code: 'step_deadline',
  message: 'A step took longer than it may (EVERTHREAD_STEP_TIMEOUT).',
};

export function runHooks(
  { loop, settings }: Pick<RunTurnDeps, 'loop' | 'settings'>,
  run: NamedRun & { readonly isolation: LoadedGraph['isolation'] | undefined },
  frames: TurnFrames,
  onLate: (failure: Failure) => void,
): RunHooks {
  // A node in a thread of its own holds nobody else's loop.
  const watched = run.isolation === 'thread' ? undefined : loop.watch(run);
  let timer: NodeJS.Timeout | undefined;
  return {
    begin: () => {
      let seen = frames.step;
      // One timer, moved on when a superstep has finished since it was set.
      timer = setInterval(() => {
        if (frames.step === seen) onLate(stepDeadline);
        seen = frames.step;
      }, settings.stepTimeoutMs);
    },
    emit: (frame) => {
      watched?.saw(frame);
      frames.emit(frame);
    },
    end: () => {
      clearInterval(timer);
      watched?.end();
    },
  };
}
