/** The checkpoints that one attempt sees (P5): stored ones of its view, and what it has put itself. */
import type { CheckpointListOptions, CheckpointTuple } from '@langchain/langgraph-checkpoint';
import { type BufferedWrite, isInsideTask, PutBuffer, needsAncestors } from './buffer.js';
import { type Entries, entriesOf, listsOf, type Writer } from './entries.js';
import { type Known, tupleOf, withWrite } from './known.js';
import { knownOf } from './load.js';
import { selectTuples } from './listing.js';
import { pack } from './pack.js';
import { withPendingSends } from './pending-sends.js';
import type { AttemptReads } from './reads.js';
import type { PutCheckpoint, PutWrites } from './saver-class.js';
import { packShared } from './sharing.js';

/** Writes of these channels have an index of their own, so that they never meet a task's outputs; LangGraph fixes them. */
const specialIndex: Readonly<Record<string, number>> = {
  __error__: -1,
  __scheduled__: -2,
  __interrupt__: -3,
  __resume__: -4,
};

const nothing: Entries = new Map();

interface CheckpointsFrom {
  readonly reads: AttemptReads;
  readonly writer: Writer;
  readonly threadId: string;
  readonly lastPos: number;
}

export class Checkpoints {
  readonly buffer = new PutBuffer();
  readonly #writer: Writer;
  readonly #reads: AttemptReads;
  readonly #threadId: string;
  /** Newest per namespace; null when the namespace is known to be empty. */
  readonly #newest = new Map<string, Known | null>();
  #lastPos: number;

  constructor({ reads, writer, threadId, lastPos }: CheckpointsFrom) {
    this.#reads = reads;
    this.#writer = writer;
    this.#threadId = threadId;
    this.#lastPos = lastPos;
  }

  get lastPos(): number {
    return this.#lastPos;
  }

  /** Tells what is already known of a namespace. */
  learn(ns: string, newest: Known | null): void {
    this.#newest.set(ns, newest);
  }

  newestKnown(ns: string): Known | null {
    return this.#newest.get(ns) ?? null;
  }

  async newest(ns: string): Promise<Known | null> {
    const known = this.#newest.get(ns);
    if (known !== undefined) return known;
    const read = await this.#read(ns, null);
    // A put of the same namespace may have come in meanwhile.
    const now = this.#newest.get(ns) ?? read;
    this.#newest.set(ns, now);
    return now;
  }

  async find(ns: string, id: string): Promise<Known | null> {
    return this.#held(ns, id) ?? this.#read(ns, id);
  }

  async tuple(ns: string, id: string | null): Promise<CheckpointTuple | undefined> {
    const known = id === null ? await this.newest(ns) : await this.find(ns, id);
    return known === null ? undefined : this.#tupleOf(known);
  }

  /** Synchronous up to the buffer, so that rows keep the order of the calls. */
  put(
    ns: string,
    parent: Known | null,
    { checkpoint, metadata, newVersions, runId }: PutCheckpoint,
  ): Known {
    const { channel_values: _, ...frame } = checkpoint;
    if (needsAncestors(checkpoint, metadata)) this.buffer.keepAll(ns);
    this.#lastPos += 1;
    const known = this.buffer.put({
      ...{ ns, id: checkpoint.id, parentId: parent?.id ?? null, pos: this.#lastPos },
      frame: structuredClone(frame),
      metadata: pack(
        this.#writer.serde,
        runId === undefined ? metadata : { ...metadata, run_id: runId },
      ),
      entries: entriesOf(this.#writer, checkpoint, newVersions, parent?.entries ?? nothing),
      others: parent?.others ?? new Map<string, never>(),
      writes: this.buffer.writesOf(ns, checkpoint.id),
    });
    for (const other of this.#newest.keys())
      if (isInsideTask(other, ns)) this.#newest.delete(other);
    this.#newest.set(ns, known);
    return known;
  }

  /** @returns what is being serialised */
  putWrites(
    ns: string,
    checkpointId: string,
    { writes, taskId, taskPath }: PutWrites,
  ): readonly Promise<unknown>[] {
    const known = this.#held(ns, checkpointId);
    const lists = known === undefined ? [] : listsOf(known.entries);
    return writes.map(([channel, value], position) => {
      const write: BufferedWrite = {
        ...{ ns, checkpointId, taskId, taskPath, channel },
        idx: specialIndex[channel] ?? position,
        packed: packShared(this.#writer.serde, value, lists) ?? pack(this.#writer.serde, value),
      };
      if (known !== undefined) known.writes = withWrite(known.writes, write);
      this.buffer.putWrite(write);
      return write.packed;
    });
  }

  /** Newest first: what is buffered, then what is stored. */
  async *list(
    ns: string | undefined,
    id: string | null,
    options: CheckpointListOptions | undefined,
  ): AsyncGenerator<CheckpointTuple> {
    const stored = await this.#reads.list(ns);
    const buffered = this.buffer.checkpoints.filter((known) => ns === undefined || known.ns === ns);
    const all = [...buffered.toReversed(), ...stored];
    yield* selectTuples(all, id, options, async (one) =>
      this.#tupleOf('entries' in one ? one : this.#withBuffered(await knownOf(this.#writer, one))),
    );
  }

  async #tupleOf(known: Known): Promise<CheckpointTuple> {
    const tuple = await tupleOf(this.#writer.serde, this.#threadId, known);
    return withPendingSends(tuple, async () =>
      known.parentId === null ? undefined : this.tuple(known.ns, known.parentId),
    );
  }

  /** The checkpoint if this attempt holds it: the newest of its namespace, or one in the buffer. */
  #held(ns: string, id: string): Known | undefined {
    const newest = this.#newest.get(ns);
    return newest?.id === id ? newest : this.buffer.find(ns, id);
  }

  async #read(ns: string, id: string | null): Promise<Known | null> {
    const stored = await this.#reads.checkpoint(ns, id);
    return stored === undefined ? null : this.#withBuffered(await knownOf(this.#writer, stored));
  }

  #withBuffered(known: Known): Known {
    const buffered = this.buffer.writesOf(known.ns, known.id);
    return { ...known, writes: buffered.reduce(withWrite, known.writes) };
  }
}
