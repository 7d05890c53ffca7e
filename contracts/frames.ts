/**
 * What travels from the worker that runs a turn to the gateways that show it (P10), and the port that carries it.
 * Frames are drafts; the committed row is the truth.
 */
import type { ThreadKey } from './protocol.js';

export type FrameBody =
  /**
   * All text of the work that is finished, as the first frame of an attempt that goes on where another one ended: it
   * replaces what viewers show who have been reset or have just come (P10). Null when it is too long to be shown again.
   */
  | { readonly kind: 'text'; readonly data: { readonly text: string | null } }
  /** Text of one model message, appended. `message_id` tells several model messages of a turn apart. */
  | {
      readonly kind: 'token';
      readonly data: { readonly message_id: string; readonly text: string };
    }
  /** What a node wrote with its stream writer. */
  | { readonly kind: 'custom'; readonly data: unknown }
  /** What a stream mode gave that a viewer has asked for; `event` names mode and namespace. */
  | { readonly kind: 'mode'; readonly data: { readonly event: string; readonly data: unknown } }
  /** A superstep has finished: its nodes and duration. */
  | {
      readonly kind: 'step';
      readonly data: { readonly nodes: readonly string[]; readonly ms: number };
    }
  /** The turn's row has changed (settled, cancelled, yielded): look at it now instead of at the next poll. */
  | { readonly kind: 'wake'; readonly data: null };

/** `step` = number of finished supersteps of the turn; `seq` counts from 1 within (turn, fence). SSE id: `<turn>.<fence>.<seq>`. */
export type Frame = FrameBody & {
  readonly turn: string;
  readonly fence: number;
  readonly step: number;
  readonly seq: number;
};

/**
 * Carries frames from the worker that runs a turn to the gateways that show it.
 * Best effort: frames may be lost, never reordered within (turn, fence).
 */
export interface Relay {
  /** Queues frames; resolves at once. Drops `token` frames, never `wake`, when too many wait. */
  publish(frames: readonly Frame[]): void;
  /** Calls `onFrame` for each frame of the turn, wakes excepted, from now on. @returns a function that ends the subscription */
  subscribe(turn: string, onFrame: (frame: Frame) => void): () => void;
  /**
   * Resolves when a frame of the turn that is published from now on would be heard here, or when that takes too long. Asked
   * before a turn is accepted, so that its viewer misses no beginning. Never rejects.
   */
  hearable(turn: string): Promise<void>;
  /**
   * Calls `onWake` with the fence of each wake of the turn, and without one when frames may have been lost: look at the row.
   * Costs less than `subscribe`. @returns a function that ends it
   */
  onWake(turn: string, onWake: (fence: number | undefined) => void): () => void;
  /**
   * What this process itself has seen of a live turn's text: fence, last frame and all text shown so far. Undefined where
   * the relay keeps none (several processes: the draft row serves late joiners) or the turn is not live here.
   */
  shown(turn: string): Shown | undefined;
  close(): Promise<void>;
}

/** Text of a turn up to frame `seq` of `fence`, all its model messages in order. */
export interface Shown {
  readonly fence: number;
  readonly step: number;
  readonly seq: number;
  readonly text: string;
}

/** The unfinished text of a turn, written every 250-500 ms for late joiners of another process. */
export interface Draft extends Shown {
  readonly thread: ThreadKey;
  readonly turn: string;
}
