/**
 * The port to long-term memory. One user of one tenant is the unit: every call names him, every row carries him, and ids are
 * compared whole ("1" is not "10"). Implementations keep no text that was not masked.
 */
import type { Episode } from './episodes/episode.js';
import type { Fact } from './facts/fact.js';
import type { Refusal, Verdict } from './facts/gate.js';

/** Whose memory it is. Both come from authentication, never from a model. */
export interface MemoryOwner {
  readonly tenant: string;
  readonly userId: string;
}

/** What one range of a thread leaves. */
export interface MemoryBatch {
  /** `<thread>:<range>`, never of two epochs of one thread. A key that was written once writes nothing again, so a retry is harmless. */
  readonly key: string;
  readonly threadId: string;
  readonly accepted: readonly Extract<Verdict, { kind: 'accepted' }>[];
  readonly episodes: readonly Episode[];
  /** How often each reason was given; the refused text itself is kept nowhere. */
  readonly refused: Readonly<Partial<Record<Refusal, number>>>;
  /** ISO time. */
  readonly now: string;
}

/** What was written. `memory_updated` of a reply is true exactly when `added` or `episodes` is above 0. */
export interface Written {
  readonly added: number;
  readonly superseded: number;
  readonly episodes: number;
}

/** What an erasure removed, sink by sink. */
export interface Erased {
  readonly facts: number;
  readonly episodes: number;
  readonly keys: number;
}

/** Long-term memory. `record` (facts/record.ts) says which rows change; implementations apply that in one transaction. */
export interface MemoryStore {
  /**
   * Writes a batch under the owner's lock, so that two writers never both add a value that supersedes.
   * @returns what the batch wrote; a retry hears what the first call wrote and writes nothing
   */
  remember(owner: MemoryOwner, batch: MemoryBatch): Promise<Written>;
  /** Facts that may be recalled at `now`; with `history` also those that were ended or have expired. */
  facts(
    owner: MemoryOwner,
    options: { readonly now: string; readonly history?: boolean },
  ): Promise<readonly Fact[]>;
  /** Episodes that have not expired, newest first. */
  episodes(owner: MemoryOwner, options: { readonly now: string }): Promise<readonly Episode[]>;
  /** Ends a fact because its user says so. @returns false when there is no such fact of this owner */
  withdraw(owner: MemoryOwner, factId: string, now: string): Promise<boolean>;
  /** Removes every row of the owner: history, vectors and idempotency keys included. */
  erase(owner: MemoryOwner): Promise<Erased>;
}

/**
 * Vectors of facts, for recall by meaning. Kept beside the facts and gone with them; which model made one is part of it, so
 * vectors of two models are never compared.
 */
export interface FactVectors {
  /** Vectors of this owner's standing facts that `model` made, by fact id. */
  vectors(owner: MemoryOwner, model: string): Promise<ReadonlyMap<string, Float32Array>>;
  /** Keeps vectors, one per fact: another model's is replaced. A fact that is gone gets none. */
  putVectors(
    owner: MemoryOwner,
    model: string,
    vectors: ReadonlyMap<string, Float32Array>,
  ): Promise<void>;
}
