/** Numbers the frames of one attempt: seq counts from 1 within (turn, fence), step counts finished supersteps (P10). */
import type { FrameBody, Relay, Shown } from '../contracts/frames.js';
import type { StepSummary } from '../contracts/protocol.js';
import { shownAfter } from '../contracts/shown.js';
import type { Claim } from '../storage/port.js';
import { bounded } from './frame-size.js';

export interface TurnFrames {
  emit(body: FrameBody): void;
  /** Finished supersteps of this attempt, for the result that the Web UI shows. */
  readonly steps: readonly StepSummary[];
  readonly step: number;
  /** Nodes of the superstep under way, as far as known: what the last flush said comes next. */
  running: readonly string[];
  /** What this attempt has shown, for the draft row; undefined while that is nothing. */
  readonly shown: Shown | undefined;
}

export function turnFrames(relay: Relay, claim: Claim, finishedSteps: number): TurnFrames {
  const steps: StepSummary[] = [];
  let seq = 0;
  let shown: Shown | undefined;
  return {
    emit(body) {
      if (body.kind === 'step') steps.push(body.data);
      const step = finishedSteps + steps.length;
      const frames = bounded(body, claim.thread.threadId).map((part) => {
        seq += 1;
        return { ...part, turn: claim.turnId, fence: claim.fence, step, seq };
      });
      for (const frame of frames) shown = shownAfter(shown, frame);
      relay.publish(frames);
    },
    steps,
    running: [],
    get step() {
      return finishedSteps + steps.length;
    },
    get shown() {
      return shown;
    },
  };
}
