/**
 * Who listens to what: frames travel on a fixed number of channels, so that a gateway hears only the shards of the turns it
 * shows; wakes travel on one that everybody hears. Knows nothing of connections.
 */
import { EventEmitter, once } from 'node:events';
import type { Frame } from '../contracts/frames.js';

/** More shards save a gateway more parsing and cost each flush more payloads. */
export const shardCount = 16;
export type Shard = number | 'wake';

/** A shard that nobody needs any more is listened to for a while: the next turn may need it. */
const lingerMs = 60_000;
const listenAgainMs = 250;
/** A turn is not held up for longer: without its first frames a viewer is healed from the row. */
const hearWithinMs = 500;

export function shardOf(turn: string): number {
  let hash = 0;
  for (let i = 0; i < turn.length; i++) hash = (Math.imul(hash, 31) + turn.charCodeAt(i)) | 0;
  return (hash >>> 0) % shardCount;
}

type OnWake = (fence: number | undefined) => void;

export interface ShardListener {
  subscribe(turn: string, onFrame: (frame: Frame) => void): () => void;
  onWake(turn: string, onWake: OnWake): () => void;
  hearable(turn: string): Promise<void>;
  deliver(frame: Frame): void;
  /** What a new connection has to listen to. */
  wanted(): readonly Shard[];
  /** Frames may have been lost, of one shard or of all: whoever waits looks at the row. */
  poke(shard?: number): void;
  close(): void;
}

export function shardListener(connection: ShardConnection): ShardListener {
  const frames = listeners<(frame: Frame) => void>();
  const wakes = listeners<OnWake>();
  const poke = (shard?: number): void => {
    for (const [turn, all] of wakes.entries()) {
      if (shard === undefined || shard === shardOf(turn)) for (const tell of all) tell(undefined);
    }
  };
  // What was published before a shard was listened to was not heard.
  const needs = shardNeeds(connection, poke);
  return {
    subscribe(turn, onFrame) {
      const end = frames.add(turn, onFrame);
      const shard = shardOf(turn);
      needs.more(shard);
      return () => {
        if (end()) needs.less(shard);
      };
    },
    hearable: (turn) => needs.heard(shardOf(turn)),
    onWake(turn, onWake) {
      const end = wakes.add(turn, onWake);
      return () => void end();
    },
    deliver(frame) {
      if (frame.kind === 'wake') for (const tell of wakes.of(frame.turn)) tell(frame.fence);
      else for (const show of frames.of(frame.turn)) show(frame);
    },
    wanted: () => ['wake', ...needs.all()],
    poke,
    close: () => needs.close(),
  };
}

interface ShardConnection {
  readonly listen: (shard: Shard) => Promise<unknown>;
  readonly unlisten: (shard: Shard) => Promise<unknown>;
}

interface ShardNeeds {
  more(shard: number): void;
  less(shard: number): void;
  /** Listens for a while, and resolves when that has begun. */
  heard(shard: number): Promise<void>;
  all(): readonly number[];
  close(): void;
}

/** Counts who needs a shard, and listens while somebody does. */
function shardNeeds(connection: ShardConnection, onListening: (shard: number) => void): ShardNeeds {
  const needs = new Map<number, number>();
  const timers = new Map<number, NodeJS.Timeout>();
  const listening = new Set<number>();
  const began = new EventEmitter().setMaxListeners(0);
  let closed = false;
  const later = (shard: number, ms: number, act: () => void): void => {
    clearTimeout(timers.get(shard));
    timers.set(shard, setTimeout(act, ms).unref());
  };
  const listen = (shard: number): void => {
    if (closed || !needs.has(shard)) return;
    connection.listen(shard).then(
      () => {
        listening.add(shard);
        began.emit(String(shard));
        onListening(shard);
      },
      () => later(shard, listenAgainMs, () => listen(shard)),
    );
  };
  const leave = (shard: number): void => {
    needs.delete(shard);
    listening.delete(shard);
    connection.unlisten(shard).catch(() => undefined);
  };
  const more = (shard: number): void => {
    const known = needs.get(shard);
    needs.set(shard, (known ?? 0) + 1);
    if (known !== undefined && known > 0) return;
    clearTimeout(timers.get(shard));
    if (!listening.has(shard)) listen(shard);
  };
  const less = (shard: number): void => {
    const left = (needs.get(shard) ?? 0) - 1;
    needs.set(shard, left);
    if (left === 0 && !closed) later(shard, lingerMs, () => leave(shard));
  };
  return {
    more,
    less,
    async heard(shard) {
      more(shard);
      if (!listening.has(shard)) {
        const signal = AbortSignal.timeout(hearWithinMs);
        await once(began, String(shard), { signal }).catch(() => undefined);
      }
      less(shard);
    },
    all: () => [...needs.keys()],
    close() {
      closed = true;
      for (const timer of timers.values()) clearTimeout(timer);
    },
  };
}

interface Listeners<T> {
  /** @returns a function that ends it, and says whether it had not ended yet */
  add(turn: string, listener: T): () => boolean;
  of(turn: string): readonly T[];
  entries(): readonly (readonly [string, readonly T[]])[];
}

/** Callbacks by turn; each `add` counts, the same function twice too. */
function listeners<T>(): Listeners<T> {
  const turns = new Map<string, Set<{ readonly listener: T }>>();
  return {
    add(turn, listener) {
      const entry = { listener };
      const set = turns.get(turn) ?? new Set();
      turns.set(turn, set.add(entry));
      return () => {
        const had = set.delete(entry);
        if (set.size === 0 && turns.get(turn) === set) turns.delete(turn);
        return had;
      };
    },
    of: (turn) => [...(turns.get(turn) ?? [])].map(({ listener }) => listener),
    entries: () =>
      [...turns].map(([turn, set]) => [turn, [...set].map(({ listener }) => listener)] as const),
  };
}
