/** What readers see of a thread's committed state. Part of the storage port. */
import type { TurnInterrupt } from '../contracts/http.schema.js';
import type { TurnStatus } from '../contracts/protocol.js';

/** A committed state: plain JSON values, messages as `TranscriptMessage`s. */
export interface StateView {
  readonly version: number;
  readonly epoch: number;
  readonly checkpointId: string | null;
  readonly values: Record<string, unknown>;
  readonly next: readonly string[];
  readonly interrupts: readonly TurnInterrupt[];
}
/** One channel of a committed state. */
export interface ChannelView extends Pick<StateView, 'version' | 'epoch'> {
  /** The graph that the thread is bound to. */
  readonly graph: string | null;
  /** Undefined when the state does not have it. */
  readonly value: unknown;
}
export interface HistoryEntry {
  readonly version: number;
  readonly turnId: string;
  readonly seq: number;
  readonly status: TurnStatus;
  readonly checkpointId: string | null;
  readonly settledAtMs: number;
  /** The version that it went on from, where that was not the newest. */
  readonly fromVersion: number | null;
  /** The newest state does not stand on it (F7). */
  readonly leftBehind: boolean;
}
