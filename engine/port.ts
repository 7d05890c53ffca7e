/**
 * The engine: runs a LangGraph graph from its latest checkpoint to its next stop. It knows nothing of Temporal or SQL;
 * LangGraph itself is handed in as a value, the project's own copy (DESIGN 4, "Running LangGraph").
 */
import type { CallConfig } from '../contracts/call-config.js';
import type { Failure } from '../contracts/failure.js';
import type { FrameBody } from '../contracts/frames.js';
import type { RunListener } from '../contracts/run-event.js';
import type { ModeSet } from '../contracts/stream-modes.js';
import type { TranscriptMessage, TurnInterrupt, Usage } from '../contracts/http.schema.js';
import type { Attempt, AttemptOptions } from '../storage/saver/port.js';
import type { LoadedGraph } from './project/types.js';

/** How the run begins. */
export type Start =
  /** A person's message: one human message whose id is the turn id. */
  | { readonly kind: 'message'; readonly text: string }
  | { readonly kind: 'input'; readonly value: unknown }
  /** Answers `interrupt()`s, or with null a static breakpoint (DESIGN 15.6). */
  | { readonly kind: 'resume'; readonly value: unknown };

/** What a node may see of where it runs. */
export interface Identity {
  readonly threadId: string;
  readonly turnId: string;
  readonly graphId: string;
  readonly tenant: string;
  /** Whom the turn names; absent when it names nobody. */
  readonly userId?: string;
}

export interface GraphRun {
  readonly graph: LoadedGraph;
  readonly attempt: Attempt;
  /** A `BaseStore` of the project's own class, in the place of any that the graph was compiled with (M17). */
  readonly store?: object;
  readonly start: Start;
  readonly identity: Identity;
  /** What the caller hands to the graph beside the input. */
  readonly call?: CallConfig;
  /** Finished supersteps of earlier attempts: they count against the recursion limit (P11). */
  readonly finishedSteps: number;
  /** From the last flush of an earlier attempt of this turn; null when there is none (P11). */
  readonly recovered: {
    readonly pending: readonly string[];
    readonly ran: readonly string[];
  } | null;
  /** Close tool calls that an interrupted or cancelled turn left unanswered, before the first superstep (P6, P7). */
  readonly closeDangling: boolean;
  /** The turn goes on from an earlier version than the newest; absent when it does not. */
  readonly forks?: boolean;
  /** Somebody listens: `messages` mode (DESIGN 15.2). */
  readonly stream: boolean;
  /** LangGraph's stream modes that a viewer has asked for. */
  readonly modes?: ModeSet;
  /** The run has a thread to itself, and its nodes may hold it: what they stream is read as they write it. */
  readonly heldThread?: boolean;
  /** Ends the run at once: fence lost, cancel, deadline. */
  readonly signal: AbortSignal;
  /** `superstep` yields after each one. */
  readonly slice: 'turn' | 'superstep';
  /** Set by the run: asks it to stop at the next superstep border. */
  readonly drain: { request: () => void };
  /** Told once, when the graph itself begins: a run may have to wait for a thread. */
  readonly onBegin?: () => void;
  readonly emit: (frame: FrameBody) => void;
  /** Hears which nodes, models and tools run; absent where nobody listens, since it costs some callbacks. */
  readonly tell?: RunListener;
}

/** What a turn leaves for its row. */
export interface TurnOutput {
  readonly response: string;
  readonly messages: readonly TranscriptMessage[];
  /** JSON object of the other channels, canonical. */
  readonly valuesJson: string;
  readonly usage?: Usage;
}

export type Stop =
  | { readonly kind: 'finished'; readonly output: TurnOutput }
  | {
      readonly kind: 'interrupted';
      readonly output: TurnOutput;
      readonly interrupts: readonly TurnInterrupt[];
      readonly next: readonly string[];
    }
  /** Drained at a superstep border; what is flushed is where the next attempt goes on. */
  | { readonly kind: 'yielded' }
  /** The graph can never finish this turn: graph_changed, recursion_limit, a refused resume. */
  | { readonly kind: 'failed'; readonly failure: Failure }
  /** A node or a model threw. The caller classifies it and may try again. */
  | { readonly kind: 'threw'; readonly error: unknown }
  /** `signal` ended it. */
  | { readonly kind: 'aborted' };

/** Runs to the next stop. Never throws for what the graph does. */
export type RunToStop = (run: GraphRun) => Promise<Stop>;

/** Where supersteps run, in this thread or another: the saver stands where the graph runs. */
export interface Runner {
  openAttempt(options: AttemptOptions): Promise<Attempt>;
  readonly runToStop: RunToStop;
}
