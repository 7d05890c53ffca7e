/** What a gateway asks of an accept, and what may become of it (P9). Part of the storage port. */
import type { ModeSet } from '../contracts/stream-modes.js';
import type { ThreadKey } from '../contracts/protocol.js';
import type { Multitask, TurnInput, TurnRecord } from './port.js';

export interface AcceptTurn {
  readonly thread: ThreadKey;
  /** Made by the gateway, so that an accept of unknown outcome can be looked up (P9). */
  readonly turnId: string;
  /** The graph that the request names; undefined takes the thread's own, or `defaultGraph` in a new thread. */
  readonly graph?: string;
  readonly defaultGraph: string;
  readonly input: TurnInput;
  readonly key?: string;
  /** Versioned digest over the validated input, without transport (P9). */
  readonly digest: string;
  readonly multitask: Multitask;
  /** Refuse when the base is another version (`base_changed`). */
  readonly ifVersion?: number;
  /** Somebody listens: run with `messages` mode (DESIGN 15.2). */
  readonly stream: boolean;
  /** Stream modes that the listener asks for; none when absent. */
  readonly modes?: ModeSet;
  /** Most unsettled turns that a thread may hold. */
  readonly maxPending: number;
  /** What a new thread carries. */
  readonly metadataJson?: string;
  /** Whether the caller may touch a thread that carries this; otherwise it is `not_found` to him (A10). */
  readonly mine?: ((metadataJson: string) => boolean) | undefined;
}

/** A turn whose fence somebody else has moved. */
export type MovedTurn = Pick<TurnRecord, 'turnId' | 'fence' | 'step'>;

export type Accepted =
  | {
      readonly kind: 'accepted';
      readonly turn: TurnRecord;
      /** Turns that `multitask` settled in the same transaction: who runs or awaits them wants to hear of it. */
      readonly cancelled: readonly MovedTurn[];
    }
  /** The key is known with the same digest: this turn answers, settled or not; nothing was written. */
  | { readonly kind: 'attached'; readonly turn: TurnRecord }
  | { readonly kind: 'key_reused' }
  | { readonly kind: 'turn_in_progress' }
  | { readonly kind: 'queue_full' }
  | { readonly kind: 'graph_mismatch'; readonly bound: string }
  /** The thread is another user's (M19). */
  | { readonly kind: 'user_mismatch' }
  | { readonly kind: 'resume_stale' }
  /** An edit is of a thread that is there: it neither makes nor revives one (F1). Or it is another caller's. */
  | { readonly kind: 'not_found' }
  /** The thread waits for an answer: an edit would take its question away (F4). */
  | { readonly kind: 'thread_interrupted' }
  | { readonly kind: 'base_changed'; readonly version: number };
