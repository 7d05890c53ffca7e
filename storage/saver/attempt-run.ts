/**
 * The running attempt: what LangGraph puts, when it is flushed, and what is left for the settling transaction (P4, P5).
 * The run is in `sync` durability: LangGraph awaits the put of a finished superstep before it prepares the next one, so
 * `put` is the barrier behind which rows are durable.
 */
import type {
  BaseCheckpointSaver,
  CheckpointListOptions,
  CheckpointTuple,
  Checkpoint,
} from '@langchain/langgraph-checkpoint';
import type { Flushed } from '../port.js';
import type { Checkpoints } from './checkpoints.js';
import { FlushQueue } from './flush-queue.js';
import type { HeadCache } from './head-cache.js';
import { checkpointOf, type Known, valuesOf } from './known.js';
import type { Attempt, AttemptOptions, FinishedStep, FlushRows } from './port.js';
import type { At, PutCheckpoint, PutWrites, SaverStore } from './saver-class.js';

interface Parts {
  readonly heads: HeadCache;
  readonly options: AttemptOptions;
  readonly saver: BaseCheckpointSaver;
  readonly checkpoints: Checkpoints;
  /** Newest root checkpoint of the view as the attempt opens. */
  readonly root: Known | null;
  readonly writtenBy: string | null;
}

/** Input and resume values are written under this task. */
const nullTask = '00000000-0000-0000-0000-000000000000';
const startNode = '__start__';

export class AttemptRun implements Attempt, SaverStore {
  readonly saver: BaseCheckpointSaver;
  readonly hasRows: boolean;
  readonly writtenBy: string | null;
  successors: (checkpoint: Checkpoint) => readonly string[] = () => [];
  onSuperstep: (step: FinishedStep) => void = () => undefined;
  onLost: (outcome: Exclude<Flushed, { readonly kind: 'flushed' }> | Error) => void = () =>
    undefined;
  readonly #parts: Parts;
  readonly #checkpoints: Checkpoints;
  readonly #queue: FlushQueue;
  #held: boolean;
  /** Nodes that follow the newest root checkpoint; undefined until asked for. */
  #following: readonly string[] | undefined;
  #step: number;

  constructor(parts: Parts) {
    const { options, saver, checkpoints } = parts;
    this.#parts = parts;
    this.#checkpoints = checkpoints;
    this.saver = saver;
    this.hasRows = options.turn.hasRows;
    this.writtenBy = parts.writtenBy;
    this.#held = options.hold;
    this.#step = options.turn.step;
    this.#queue = new FlushQueue(checkpoints.buffer, options, (outcome) => {
      this.onLost(outcome);
    });
  }

  async baseValues(): Promise<Readonly<Record<string, unknown>> | undefined> {
    const { head } = this.#parts.options.turn;
    if (head === null) return undefined;
    const { root } = this.#parts;
    const known =
      root?.id === head.checkpointId ? root : await this.#checkpoints.find('', head.checkpointId);
    return known === null ? undefined : valuesOf(this.saver.serde, known);
  }

  getTuple({ ns, checkpointId }: At): Promise<CheckpointTuple | undefined> {
    return this.#checkpoints.tuple(ns, checkpointId);
  }

  list(
    { ns, checkpointId }: Partial<At>,
    options: CheckpointListOptions | undefined,
  ): AsyncGenerator<CheckpointTuple> {
    return this.#checkpoints.list(ns, checkpointId ?? null, options);
  }

  async put({ ns, checkpointId }: At, put: PutCheckpoint): Promise<void> {
    this.#queue.assertOpen();
    const newest = this.#checkpoints.newestKnown(ns);
    const isNewest = checkpointId === (newest?.id ?? null);
    const parent =
      isNewest || checkpointId === null ? newest : await this.#checkpoints.find(ns, checkpointId);
    const known = this.#checkpoints.put(ns, parent, put);
    if (ns === '') {
      this.#queue.cancelEarly();
      await this.#rootPut(parent, put);
    }
    await packedOf(known);
  }

  /** A finished superstep that something follows is flushed here; the last one is left for `finish`. */
  async #rootPut(parent: Known | null, { checkpoint, metadata }: PutCheckpoint): Promise<void> {
    const before = this.#following;
    this.#following = this.successors(checkpoint);
    if (metadata.source !== 'loop') return;
    this.#held = false;
    const ran = before ?? (await this.#nodesAfter(parent));
    const nodes = ran.filter((name) => name !== startNode);
    if (nodes.length === 0) return;
    this.#step += 1;
    this.#queue.superstep = { finished: this.#step, ran: nodes, next: this.#following };
    if (this.#following.length > 0) await this.#queue.flush();
    this.onSuperstep({ step: this.#step, nodes });
  }

  async #nodesAfter(parent: Known | null): Promise<readonly string[]> {
    return parent === null ? [] : this.successors(await checkpointOf(this.saver.serde, parent));
  }

  async putWrites(
    { ns, checkpointId }: At & { readonly checkpointId: string },
    put: PutWrites,
  ): Promise<void> {
    this.#queue.assertOpen();
    const packed = this.#checkpoints.putWrites(ns, checkpointId, put);
    if (isFinished(put) && !this.#held) this.#queue.scheduleEarly();
    await Promise.all(packed);
  }

  deleteThread(): Promise<void> {
    return Promise.reject(new Error('a run cannot delete its thread'));
  }

  headCheckpointId(): string | null {
    return this.#checkpoints.newestKnown('')?.id ?? null;
  }

  finish(): Promise<FlushRows> {
    return this.#queue.finish();
  }

  keep(): void {
    const { heads, options } = this.#parts;
    const { thread, epoch, seq } = options.turn.claim;
    const known = this.#checkpoints.newestKnown('');
    if (known === null) return;
    const { lastPos } = this.#checkpoints;
    const module = options.checkpoint.BaseCheckpointSaver;
    heads.put(thread, { epoch, known, seq, lastPos, module });
  }

  drop(): void {
    this.#parts.heads.take(this.#parts.options.turn.claim.thread);
  }
}

/** Serialising fails here, in the put, as with any saver. */
const packedOf = ({ metadata, entries }: Known): Promise<unknown> =>
  Promise.all([
    metadata,
    ...[...entries.values()].flatMap<Promise<unknown> | undefined>((entry) =>
      entry.kind === 'list' ? [...entry.rest, entry.verified?.checked] : [entry.packed],
    ),
  ]);

/** A node has finished, and its writes are worth a flush: neither input, nor a failed or interrupted task. */
function isFinished({ writes, taskId, taskPath }: PutWrites): boolean {
  if (taskId === nullTask || taskPath === `~__pregel_pull, ${startNode}`) return false;
  const channels = new Set(writes.map(([channel]) => channel));
  if (channels.has('__error__') || channels.has('__interrupt__')) return false;
  return [...channels].some((channel) => channel !== '__resume__' && channel !== '__scheduled__');
}
