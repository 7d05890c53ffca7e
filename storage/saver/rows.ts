/** Reads checkpoints of one thread as rows (P5). Decoding is `load.ts`'s: a transaction never awaits a serde. */
import type { Checkpoint } from '@langchain/langgraph-checkpoint';
import type { ThreadKey } from '../../contracts/protocol.js';
import { query, type Tx } from '../tx.js';
import { type Packed, toBytes, toText } from './pack.js';
import { referencesOf } from './sharing.js';

/** What an attempt may see: committed turns up to the head, and its own turn (P5). */
export interface View {
  readonly thread: ThreadKey;
  readonly epoch: number;
  /** Seq of the turn that left the head; -1 without one. */
  readonly headSeq: number;
  /** Seq of the turn that looks; -1 when none does. */
  readonly ownSeq: number;
}

/** What stands in `body`. Small values are inline: `[type, text]`; `rows` names the version of each other one. */
export interface Body {
  readonly writer: string;
  readonly frame: Omit<Checkpoint, 'channel_values'>;
  readonly inline: Readonly<Record<string, readonly [type: string, text: string]>>;
  readonly rows: Readonly<Record<string, string>>;
}

export interface StoredDelta {
  readonly channel: string;
  readonly version: string;
  readonly base: string | null;
  readonly keep: number;
  /** Elements of the whole list at this version; 0 for what is no list. */
  readonly length: number;
  readonly type: string;
  readonly rest: Uint8Array;
}

export interface StoredWrite {
  readonly task_id: string;
  readonly task_path: string;
  readonly idx: number;
  readonly channel: string;
  readonly type: string;
  readonly value: Uint8Array;
}

interface CheckpointColumns {
  readonly ns: string;
  readonly checkpoint_id: string;
  readonly parent_id: string | null;
  readonly pos: number;
  readonly body: Uint8Array;
  readonly metadata: Uint8Array;
}

export interface Stored {
  readonly row: CheckpointColumns;
  readonly body: Body;
  readonly deltas: readonly StoredDelta[];
  /** List versions that `shared` values name and the checkpoint itself does not hold. */
  readonly others: readonly ListVersion[];
  readonly writes: readonly StoredWrite[];
}

const ofThread = 'tenant = $1 AND thread_id = $2 AND epoch = $3';
const inView = `${ofThread} AND (seq <= $4 OR seq = $5)`;
const columns = 'ns, checkpoint_id, parent_id, pos, body, metadata';

const scopeOf = ({ thread, epoch }: View): [string, string, number] => [
  thread.tenant,
  thread.threadId,
  epoch,
];
const viewOf = (view: View): [string, string, number, number, number] => [
  ...scopeOf(view),
  view.headSeq,
  view.ownSeq,
];

/** The newest checkpoint of the namespace, or exactly the one asked for. */
export function* readCheckpoint(view: View, ns: string, id: string | null): Tx<Stored | undefined> {
  const found = yield* query<CheckpointColumns>(
    `SELECT ${columns} FROM et_checkpoints WHERE ${inView} AND ns = $6
       ${id === null ? '' : 'AND checkpoint_id = $7'} ORDER BY pos DESC LIMIT 1`,
    ...viewOf(view),
    ns,
    ...(id === null ? [] : [id]),
  );
  return found[0] === undefined ? undefined : yield* readRest(view, found[0]);
}

/** The highest `pos` of the epoch; 0 without rows. */
export function* readLastPos(view: View): Tx<number> {
  const found = yield* query<{ pos: number | null }>(
    `SELECT max(pos) AS pos FROM et_checkpoints WHERE ${ofThread}`,
    ...scopeOf(view),
  );
  return found[0]?.pos ?? 0;
}

/** Checkpoints of the view, newest first; `ns` undefined takes all namespaces. */
export function* listCheckpoints(view: View, ns: string | undefined): Tx<readonly Stored[]> {
  const found = yield* query<CheckpointColumns>(
    `SELECT ${columns} FROM et_checkpoints WHERE ${inView} ${ns === undefined ? '' : 'AND ns = $6'} ORDER BY pos DESC`,
    ...viewOf(view),
    ...(ns === undefined ? [] : [ns]),
  );
  const all: Stored[] = [];
  for (const row of found) all.push(yield* readRest(view, row));
  return all;
}

/** A root checkpoint as if it had one channel alone: the others are not read. */
export function* readChannel(view: View, id: string, channel: string): Tx<Stored | undefined> {
  const [row] = yield* query<CheckpointColumns>(
    `SELECT ${columns} FROM et_checkpoints WHERE ${inView} AND ns = '' AND checkpoint_id = $6`,
    ...viewOf(view),
    id,
  );
  if (row === undefined) return undefined;
  const whole = JSON.parse(toText(row.body)) as Body;
  const only = <T>(all: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(all).filter(([name]) => name === channel));
  const body = { ...whole, inline: only(whole.inline), rows: only(whole.rows) };
  const wanted = Object.entries(body.rows).map(([name, version]) => ({ channel: name, version }));
  const deltas = yield* readChains(view, '', wanted);
  return { row, body, deltas, others: [], writes: [] };
}

function* readRest(view: View, row: CheckpointColumns): Tx<Stored> {
  const body = JSON.parse(toText(row.body)) as Body;
  const stored = yield* query<StoredWrite>(
    `SELECT task_id, task_path, idx, channel, type, value FROM et_writes
     WHERE ${inView} AND ns = $6 AND checkpoint_id = $7 ORDER BY seq`,
    ...viewOf(view),
    row.ns,
    row.checkpoint_id,
  );
  // A resume writes beside the head's own writes: of one task and idx, the later turn's holds.
  const writes = [...new Map(stored.map((w) => [`${w.task_id} ${w.idx}`, w])).values()];
  const wanted = Object.entries(body.rows).map(([channel, version]) => ({ channel, version }));
  const deltas = yield* readChains(view, row.ns, wanted);
  const others = missingOf(body, deltas, writes);
  if (others.length === 0) return { row, body, deltas, others, writes };
  const more = yield* readChains(view, row.ns, others);
  return { row, body, deltas: [...deltas, ...more], others, writes };
}

export interface ListVersion {
  readonly channel: string;
  readonly version: string;
}

/** Versions with all that they continue. CROSS JOIN keeps SQLite from walking all rows for each link of a chain. */
function* readChains(
  view: View,
  ns: string,
  wanted: readonly ListVersion[],
): Tx<readonly StoredDelta[]> {
  if (wanted.length === 0) return [];
  const fields = (of: string): string =>
    ['channel', 'version', 'base', 'keep', 'length', 'type', 'rest']
      .map((name) => `${of}.${name}`)
      .join(', ');
  const thread = 'd.tenant = $1 AND d.thread_id = $2 AND d.epoch = $3 AND d.ns = $4';
  const any = wanted.map((_, i) => `(d.channel = $${2 * i + 5} AND d.version = $${2 * i + 6})`);
  return yield* query<StoredDelta>(
    `WITH RECURSIVE chain (channel, version, base, keep, length, type, rest) AS (
       SELECT ${fields('d')} FROM et_deltas d WHERE ${thread} AND (${any.join(' OR ')})
       UNION ALL
       SELECT ${fields('d')} FROM chain c CROSS JOIN et_deltas d
       WHERE ${thread} AND d.channel = c.channel AND d.version = c.base
     ) SELECT ${fields('chain')} FROM chain`,
    ...scopeOf(view),
    ns,
    ...wanted.flatMap(({ channel, version }) => [channel, version]),
  );
}

function missingOf(
  body: Body,
  deltas: readonly StoredDelta[],
  writes: readonly StoredWrite[],
): readonly ListVersion[] {
  const packed: Packed[] = [
    ...Object.values(body.inline).map(([type, text]) => ({ type, bytes: toBytes(text) })),
    ...deltas.map(({ type, rest }) => ({ type, bytes: rest })),
    ...writes.map(({ type, value }) => ({ type, bytes: value })),
  ];
  const missing = new Map<string, ListVersion>();
  for (const { channel, version } of packed.flatMap(referencesOf)) {
    if (body.rows[channel] !== version)
      missing.set(`${channel}\u0000${version}`, { channel, version });
  }
  return [...missing.values()];
}
