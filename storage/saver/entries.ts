/**
 * Channel values as the saver knows them, each at one version: what the graph sees, and what is or will be stored.
 * A list is stored as what it adds to an older version; everything else whole.
 */
import type { Checkpoint } from '@langchain/langgraph-checkpoint';
import { type KnownList, printOf, sharedPrefix } from './deltas.js';
import { pack, packElement, type Packed, type Serde } from './pack.js';
import { packShared, type SharedList, sharedList } from './sharing.js';
import { type Verified, verifiedList } from './verify.js';

/** How values are written. */
export interface Writer {
  readonly serde: Serde;
  readonly verify: boolean;
}

export interface ListEntry extends KnownList {
  readonly kind: 'list';
  readonly version: string;
  /** The stored version it continues, and how many of its elements; null when `rest` is the whole list. */
  readonly base: string | null;
  readonly keep: number;
  readonly rest: readonly Promise<Uint8Array>[];
  /** Rows that a reader walks. */
  readonly depth: number;
  /** All elements' bytes, and the comparison with those before: in verify mode. */
  readonly verified?: Verified;
  /** On its way into the database or there: other versions may continue it. */
  taken: boolean;
  /** Its row exists. */
  emitted: boolean;
}

export interface PlainEntry {
  readonly kind: 'plain';
  readonly version: string;
  readonly packed: Promise<Packed>;
  /** Holds references to lists of its checkpoint (sharing.ts). */
  readonly shares: boolean;
  taken: boolean;
  emitted: boolean;
}

export type Entry = ListEntry | PlainEntry;
export type Entries = ReadonlyMap<string, Entry>;

/** A chain this long is worth ending with a whole list, if the list is short. */
const longChain = 200;
const shortList = 50;

/**
 * The entries of a checkpoint that is put: changed channels by `newVersions`, the others from the checkpoint before.
 * A channel that neither gives is not stored.
 */
export function entriesOf(
  writer: Writer,
  checkpoint: Checkpoint,
  newVersions: Readonly<Record<string, unknown>>,
  before: Entries,
): Entries {
  const entries = new Map<string, Entry>();
  const plain: string[] = [];
  for (const [channel, value] of Object.entries(checkpoint.channel_values)) {
    const version = checkpoint.channel_versions[channel];
    if (version === undefined) continue;
    const known = before.get(channel);
    const carried = known?.version === String(version) ? known : undefined;
    if (Object.hasOwn(newVersions, channel) ? false : carried === undefined) continue;
    if (carried !== undefined && mayCarry(carried)) entries.set(channel, carried);
    else if (isList(channel, value)) {
      entries.set(channel, listEntry(writer, String(version), value, known));
    } else plain.push(channel);
  }
  // After the lists, since their values may share them.
  const lists = listsOf(entries, before);
  for (const channel of plain) {
    const version = String(checkpoint.channel_versions[channel]);
    entries.set(
      channel,
      plainEntry(writer.serde, version, checkpoint.channel_values[channel], lists),
    );
  }
  return entries;
}

/** @param old entries that were not made just now, so that their elements may have been edited since: all, unless given */
export const listsOf = (entries: Entries, old = entries): readonly SharedList[] =>
  [...entries].flatMap(([channel, entry]) =>
    entry.kind === 'list'
      ? [sharedList(channel, entry, old.get(channel) === entry ? 0 : entry.elements.length)]
      : [],
  );

/** References name a list version that is stored with the checkpoint; before that they hold only there. */
const mayCarry = (entry: Entry): boolean => entry.kind === 'list' || !entry.shares || entry.taken;

/** Sends are new each time, so they are no list that grows; their arguments are (sharing.ts). */
const isList = (channel: string, value: unknown): value is readonly unknown[] =>
  channel !== '__pregel_tasks' && Array.isArray(value) && value.length > 0;

function plainEntry(
  serde: Serde,
  version: string,
  value: unknown,
  lists: readonly SharedList[],
): PlainEntry {
  const shared = packShared(serde, value, lists);
  return {
    kind: 'plain',
    version,
    packed: shared ?? pack(serde, value),
    shares: shared !== undefined,
    taken: false,
    emitted: false,
  };
}

function listEntry(
  { serde, verify }: Writer,
  version: string,
  value: readonly unknown[],
  before: Entry | undefined,
): ListEntry {
  const known = before?.kind === 'list' ? before : undefined;
  const elements = [...value];
  const shared = known === undefined ? 0 : sharedPrefix(known, elements);
  const prints = [
    ...(known?.prints.slice(0, shared) ?? []),
    ...elements.slice(shared).map(printOf),
  ];
  const from = (first: number): Promise<Uint8Array>[] =>
    elements.slice(first).map((element) => packElement(serde, element));
  const next = {
    ...({ kind: 'list', version, elements, prints, taken: false, emitted: false } as const),
    ...(verify && { verified: verifiedList(serde, elements, shared, known?.verified) }),
  };
  const isWorthEnding =
    known?.taken === true && known.depth >= longChain && elements.length <= shortList;
  if (known === undefined || shared === 0 || isWorthEnding) {
    return { ...next, base: null, keep: 0, rest: from(0), depth: 1 };
  }
  if (known.taken) {
    const depth = known.depth + 1;
    return { ...next, base: known.version, keep: shared, rest: from(shared), depth };
  }
  // The version before is not stored: this one continues what that one continued.
  const keep = Math.min(shared, known.keep);
  const rest = [...known.rest.slice(0, shared - keep), ...from(shared)];
  return { ...next, base: keep === 0 ? null : known.base, keep, rest, depth: known.depth };
}
