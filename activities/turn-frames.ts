/** Numbers the frames of one attempt: seq counts from 1 within (turn, fence), step counts finished supersteps (P10). */
import type { FrameBody, Relay } from '../contracts/frames.js';
import type { StepSummary } from '../contracts/protocol.js';
import type { Claim } from '../storage/port.js';

export interface TurnFrames {
  emit(body: FrameBody): void;
  /** Finished supersteps of this attempt, for the result that the Web UI shows. */
  readonly steps: readonly StepSummary[];
  readonly step: number;
  /** Nodes of the superstep under way, as far as known: what the last flush said comes next. */
  running: readonly string[];
  /** Last frame and all text shown by this attempt, for the draft row. */
  readonly seq: number;
  readonly text: string;
}

export function turnFrames(relay: Relay, claim: Claim, finishedSteps: number): TurnFrames {
  const steps: StepSummary[] = [];
  let seq = 0;
  let text = '';
  return {
    emit(body) {
      if (body.kind === 'step') steps.push(body.data);
      if (body.kind === 'token') text += body.data.text;
      seq += 1;
      const step = finishedSteps + steps.length;
      relay.publish([{ ...body, turn: claim.turnId, fence: claim.fence, step, seq }]);
    },
    steps,
    running: [],
    get step() {
      return finishedSteps + steps.length;
    },
    get seq() {
      return seq;
    },
    get text() {
      return text;
    },
  };
}
