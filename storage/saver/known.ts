/** One checkpoint as this process knows it: read from the database, or put by the running graph. */
import type { Checkpoint, CheckpointTuple } from '@langchain/langgraph-checkpoint';
import type { Entries } from './entries.js';
import type { Packed, Serde } from './pack.js';
import { type Reference, unpack } from './sharing.js';

export interface Known {
  readonly ns: string;
  readonly id: string;
  readonly parentId: string | null;
  readonly pos: number;
  /** Without its channel values. */
  readonly frame: Omit<Checkpoint, 'channel_values'>;
  readonly metadata: Promise<Packed>;
  readonly entries: Entries;
  /** Lists of other versions that `shared` values name. */
  readonly others: ReadonlyMap<string, readonly unknown[]>;
  /** Pending writes of the view, one per (task, idx). */
  writes: readonly KnownWrite[];
}

export interface KnownWrite {
  readonly taskId: string;
  readonly taskPath: string;
  readonly idx: number;
  readonly channel: string;
  readonly packed: Promise<Packed>;
}

export const otherKey = (channel: string, version: string): string => `${channel}\u0000${version}`;

/** A copy for the graph: lists are copied with shared elements, everything else is decoded anew. */
export async function tupleOf(
  serde: Serde,
  threadId: string,
  known: Known,
): Promise<CheckpointTuple> {
  const at = (id: string): CheckpointTuple['config'] => ({
    configurable: { thread_id: threadId, checkpoint_ns: known.ns, checkpoint_id: id },
  });
  const tuple: CheckpointTuple = {
    config: at(known.id),
    checkpoint: await checkpointOf(serde, known),
    metadata: (await unpacked(serde, known, known.metadata)) as NonNullable<
      CheckpointTuple['metadata']
    >,
    pendingWrites: await pendingWritesOf(serde, known),
  };
  if (known.parentId !== null) tuple.parentConfig = at(known.parentId);
  return tuple;
}

export async function checkpointOf(serde: Serde, known: Known): Promise<Checkpoint> {
  const { channel_versions, versions_seen, ...frame } = known.frame;
  return {
    ...frame,
    channel_values: await valuesOf(serde, known),
    channel_versions: { ...channel_versions },
    versions_seen: Object.fromEntries(
      Object.entries(versions_seen).map(([node, seen]) => [node, { ...seen }]),
    ),
  };
}

export async function valuesOf(serde: Serde, known: Known): Promise<Record<string, unknown>> {
  const values = [...known.entries].map(async ([channel, entry]): Promise<[string, unknown]> => {
    if (entry.kind === 'list') return [channel, [...entry.elements]];
    return [channel, await unpacked(serde, known, entry.packed)];
  });
  return Object.fromEntries(await Promise.all(values));
}

type PendingWrites = NonNullable<CheckpointTuple['pendingWrites']>;

async function pendingWritesOf(serde: Serde, known: Known): Promise<PendingWrites> {
  const ordered = [...known.writes].sort(inLiveOrder);
  return Promise.all(
    ordered.map(async ({ taskId, channel, packed }): Promise<PendingWrites[number]> => [
      taskId,
      channel,
      await unpacked(serde, known, packed),
    ]),
  );
}

/** Live execution applies a superstep's writes by task path, task id and index; strings compare by code point. */
function inLiveOrder(a: KnownWrite, b: KnownWrite): number {
  return (
    byCodePoint(a.taskPath, b.taskPath) ||
    byCodePoint(a.taskId, b.taskId) ||
    Math.sign(a.idx - b.idx)
  );
}

// UTF-8 bytes sort as code points do.
const byCodePoint = (a: string, b: string): number =>
  a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b));

async function unpacked(serde: Serde, known: Known, packed: Promise<Packed>): Promise<unknown> {
  return unpack(serde, await packed, (reference) => elementsOf(known, reference));
}

function elementsOf(known: Known, { channel, version }: Reference): readonly unknown[] {
  const entry = known.entries.get(channel);
  if (entry?.kind === 'list' && entry.version === version) return entry.elements;
  const other = known.others.get(otherKey(channel, version));
  if (other === undefined) {
    throw new Error(`checkpoint ${known.id} names a missing version ${version} of "${channel}"`);
  }
  return other;
}

/** Adds a write; the newest for a (task, idx) counts, as in the table. */
export const withWrite = (
  writes: readonly KnownWrite[],
  write: KnownWrite,
): readonly KnownWrite[] => [
  ...writes.filter(({ taskId, idx }) => taskId !== write.taskId || idx !== write.idx),
  write,
];
