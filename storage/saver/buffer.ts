/**
 * What an attempt has put and not yet flushed (P5). Pure bookkeeping, in call order.
 * Of the buffered checkpoints of a namespace only the last is kept, and only writes of the unfinished superstep:
 * nothing needs to be durable before the first finished task. Delta channels are rebuilt from all of them.
 */
import type { Checkpoint, CheckpointMetadata } from '@langchain/langgraph-checkpoint';
import type { Known, KnownWrite } from './known.js';

export interface BufferedWrite extends KnownWrite {
  readonly ns: string;
  readonly checkpointId: string;
}

/** What one flush takes. */
export interface Cut {
  readonly checkpoints: readonly Known[];
  readonly writes: readonly BufferedWrite[];
}

export class PutBuffer {
  #checkpoints: Known[] = [];
  #writes: BufferedWrite[] = [];
  readonly #keepsAll = new Set<string>();

  get isEmpty(): boolean {
    return this.#checkpoints.length === 0 && this.#writes.length === 0;
  }

  get checkpoints(): readonly Known[] {
    return this.#checkpoints;
  }

  find(ns: string, id: string): Known | undefined {
    return this.#checkpoints.find((known) => known.ns === ns && known.id === id);
  }

  writesOf(ns: string, checkpointId: string): readonly BufferedWrite[] {
    return this.#writes.filter((write) => write.ns === ns && write.checkpointId === checkpointId);
  }

  /** Once a namespace has a delta channel, all its rows are kept. */
  keepAll(ns: string): void {
    this.#keepsAll.add(ns);
  }

  /** Adds a checkpoint. @returns it, on the stored parent when it supersedes a buffered one */
  put(known: Known): Known {
    let added = known;
    if (!this.#keepsAll.has(known.ns)) {
      const parent = known.parentId === null ? undefined : this.find(known.ns, known.parentId);
      if (parent !== undefined) added = { ...known, parentId: parent.parentId };
      this.#checkpoints = this.#checkpoints.filter((one) => one !== parent);
      this.#writes = this.#writes.filter(
        ({ ns, checkpointId }) => ns !== known.ns || checkpointId !== known.parentId,
      );
    }
    this.#dropFinished(known.ns);
    this.#checkpoints.push(added);
    return added;
  }

  putWrite(write: BufferedWrite): void {
    this.#writes = this.#writes.filter(
      ({ ns, checkpointId, taskId, idx }) =>
        ns !== write.ns ||
        checkpointId !== write.checkpointId ||
        taskId !== write.taskId ||
        idx !== write.idx,
    );
    this.#writes.push(write);
  }

  take(): Cut {
    const cut = { checkpoints: this.#checkpoints, writes: this.#writes };
    this.#checkpoints = [];
    this.#writes = [];
    for (const { entries } of cut.checkpoints) {
      for (const entry of entries.values()) entry.taken = true;
    }
    return cut;
  }

  /** A superstep has ended, so all its tasks have: what ran inside them is not asked for again. */
  #dropFinished(ns: string): void {
    const stays = (one: { readonly ns: string }): boolean => !isInsideTask(one.ns, ns);
    this.#checkpoints = this.#checkpoints.filter(stays);
    this.#writes = this.#writes.filter(stays);
  }
}

/** `node:task` and below belong to a task of `outer`; a namespace without a task id is kept for ever. */
export function isInsideTask(ns: string, outer: string): boolean {
  const prefix = outer === '' ? '' : `${outer}|`;
  return ns !== outer && ns.startsWith(prefix) && ns.slice(prefix.length).includes(':');
}

/** A channel of this checkpoint is rebuilt from its ancestors' writes; or a format that keeps sends in them. */
export function needsAncestors(checkpoint: Checkpoint, metadata: CheckpointMetadata): boolean {
  return (
    checkpoint.v < 4 ||
    'counters_since_delta_snapshot' in metadata ||
    'delta_writes_versioned' in metadata ||
    Object.values(checkpoint.channel_values).some(isDeltaSnapshot)
  );
}

const isDeltaSnapshot = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  'lg_name' in value &&
  value.lg_name === 'DeltaSnapshot';
