/** Rows of a checkpoint back to what a graph can run on. */
import { printOf } from './deltas.js';
import type { Entry, ListEntry, PlainEntry, Writer } from './entries.js';
import { type Known, otherKey } from './known.js';
import { parseElements, reviveElements } from './messages.js';
import { type Serde, toBytes, toText } from './pack.js';
import type { Stored, StoredDelta } from './rows.js';
import { verifiedList } from './verify.js';

export async function knownOf({ serde, verify }: Writer, stored: Stored): Promise<Known> {
  const { row, body, writes } = stored;
  const chains = new Map(stored.deltas.map((d) => [otherKey(d.channel, d.version), d]));
  const entries = new Map<string, Entry>();
  const versionOf = (channel: string): string => String(body.frame.channel_versions[channel]);
  for (const [channel, [type, text]] of Object.entries(body.inline)) {
    entries.set(channel, storedPlain(versionOf(channel), type, toBytes(text), false));
  }
  for (const [channel, version] of Object.entries(body.rows)) {
    entries.set(channel, await storedEntry(serde, chains, channel, version));
  }
  if (verify) {
    for (const [channel, entry] of entries) {
      if (entry.kind !== 'list') continue;
      const verified = verifiedList(serde, entry.elements, 0, undefined);
      entries.set(channel, { ...entry, verified });
    }
  }
  const others = new Map<string, readonly unknown[]>();
  for (const { channel, version } of stored.others) {
    const list = await storedList(serde, chains, channel, version);
    others.set(otherKey(channel, version), list.elements);
  }
  return {
    ...{ ns: row.ns, id: row.checkpoint_id, parentId: row.parent_id, pos: row.pos },
    frame: body.frame,
    metadata: Promise.resolve({ type: 'json', bytes: row.metadata }),
    entries,
    others,
    writes: writes.map((write) => ({
      ...{ taskId: write.task_id, taskPath: write.task_path, idx: write.idx },
      channel: write.channel,
      packed: Promise.resolve({ type: write.type, bytes: write.value }),
    })),
  };
}

export type Chains = ReadonlyMap<string, StoredDelta>;

async function storedEntry(
  serde: Serde,
  chains: Chains,
  channel: string,
  version: string,
): Promise<Entry> {
  const delta = chains.get(otherKey(channel, version));
  if (delta === undefined) throw missing(channel, version);
  if (delta.type === 'list') return storedList(serde, chains, channel, version);
  return storedPlain(version, delta.type, delta.rest, true);
}

function storedPlain(
  version: string,
  type: string,
  bytes: Uint8Array,
  emitted: boolean,
): PlainEntry {
  const packed = Promise.resolve({ type, bytes });
  return { kind: 'plain', version, packed, shares: type === 'shared', taken: true, emitted };
}

async function storedList(
  serde: Serde,
  chains: Chains,
  channel: string,
  version: string,
): Promise<ListEntry> {
  const walked = walkChain(chains, channel, version);
  const elements = await reviveElements(serde, replay(walked, parseElements));
  return {
    ...{ kind: 'list', version, elements, prints: elements.map(printOf) },
    ...{ base: null, keep: 0, rest: [], depth: walked.length, taken: true, emitted: true },
  };
}

/** From the whole list at the chain's end to the version asked for. */
export function walkChain(chains: Chains, channel: string, version: string): StoredDelta[] {
  const walked: StoredDelta[] = [];
  for (let at: string | null = version; at !== null;) {
    const delta = chains.get(otherKey(channel, at));
    if (delta === undefined || walked.length > chains.size) throw missing(channel, at);
    walked.push(delta);
    at = delta.base;
  }
  return walked.reverse();
}

/** What each version kept and added. */
export function replay<T>(
  walked: readonly StoredDelta[],
  parse: (text: string) => readonly T[],
): T[] {
  const elements: T[] = [];
  for (const { keep, rest } of walked) {
    elements.length = keep;
    for (const element of parse(toText(rest))) elements.push(element);
  }
  return elements;
}

const missing = (channel: string, version: string): Error =>
  new Error(`the stored state misses version ${version} of channel "${channel}"`);
