/**
 * Lists inside the arguments of `Send` that begin with a list of the checkpoint they belong to. `createAgent` sends the
 * whole state with each tool call: stored plainly, a tool agent would write its history at every step.
 */
import { isPlain, type KnownList, sharedPrefix } from './deltas.js';
import { pack, type Packed, type Serde, toBytes, toText } from './pack.js';

/** `args[field]` of the `at`-th Send begins with the first `keep` elements of that version of that channel. */
export interface Reference {
  readonly at: number;
  readonly field: string;
  readonly channel: string;
  readonly version: string;
  readonly keep: number;
}

/** A list of a checkpoint that its Sends may begin with. */
export interface SharedList {
  readonly channel: string;
  readonly version: string;
  /** How many first elements of `value` are the list's. Elements are looked at once for edits in place. */
  readonly prefixOf: (value: readonly unknown[]) => number;
}

/**
 * For questions in one go, with no code of the graph between them: all tool calls of a message are sent the same history.
 * @param looked so many elements have been looked at just now
 */
export function sharedList(
  channel: string,
  list: KnownList & { readonly version: string },
  looked: number,
): SharedList {
  let known = looked;
  return {
    channel,
    version: list.version,
    prefixOf(value) {
      const keep = sharedPrefix(list, value, known);
      known = Math.max(known, keep);
      return keep;
    },
  };
}

interface SendLike {
  readonly node: unknown;
  readonly args: unknown;
  readonly timeout?: unknown;
}

/** @returns undefined when nothing is shared: the value is stored as it is */
export function packShared(
  serde: Serde,
  value: unknown,
  lists: readonly SharedList[],
): Promise<Packed> | undefined {
  const sends: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (!sends.some(isSend)) return undefined;
  const references: Reference[] = [];
  const shortened = sends.map((send, at) =>
    isSend(send) ? shorten(send, at, lists, references) : send,
  );
  if (references.length === 0) return undefined;
  const packed = pack(serde, Array.isArray(value) ? shortened : shortened[0]);
  return packed.then(({ bytes }) => wrap(references, bytes));
}

const isSend = (value: unknown): value is SendLike =>
  typeof value === 'object' &&
  value !== null &&
  'node' in value &&
  'args' in value &&
  (('lg_name' in value && value.lg_name === 'Send') || isPlain(value));

function shorten(
  send: SendLike,
  at: number,
  lists: readonly SharedList[],
  references: Reference[],
): SendLike {
  if (!isPlain(send.args)) return send;
  const args: Record<string, unknown> = { ...send.args };
  for (const [field, value] of Object.entries(args)) {
    if (!Array.isArray(value)) continue;
    for (const { channel, version, prefixOf } of lists) {
      const keep = prefixOf(value);
      if (keep === 0) continue;
      references.push({ at, field, channel, version, keep });
      args[field] = value.slice(keep);
      break;
    }
  }
  if (isPlain(send)) return { ...send, args };
  const { node, timeout } = send;
  return timeout === undefined ? { node, args } : { node, args, timeout };
}

/** `{"references": […], "value": <what the serde wrote>}` */
const wrap = (references: readonly Reference[], value: Uint8Array): Packed => ({
  type: 'shared',
  bytes: toBytes(`{"references":${JSON.stringify(references)},"value":${toText(value)}}`),
});

export function referencesOf(packed: Packed): readonly Reference[] {
  if (packed.type !== 'shared') return [];
  return (JSON.parse(toText(packed.bytes)) as { references: readonly Reference[] }).references;
}

/** Gives a value back as it was; `elementsOf` finds the list that a reference names. */
export async function unpack(
  serde: Serde,
  packed: Packed,
  elementsOf: (reference: Reference) => readonly unknown[],
): Promise<unknown> {
  if (packed.type !== 'shared')
    return (await serde.loadsTyped(packed.type, packed.bytes)) as unknown;
  const { references, value } = (await serde.loadsTyped('json', packed.bytes)) as {
    references: readonly Reference[];
    value: unknown;
  };
  const sends: readonly unknown[] = Array.isArray(value) ? value : [value];
  for (const reference of references) {
    const { args } = sends[reference.at] as { args: Record<string, readonly unknown[]> };
    const rest = args[reference.field] ?? [];
    args[reference.field] = [...elementsOf(reference).slice(0, reference.keep), ...rest];
  }
  return value;
}
