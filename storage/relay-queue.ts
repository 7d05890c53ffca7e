/** Frames on their way out: one statement in flight, leading edge first, bounded by bytes. Knows nothing of connections. */
import type { Frame } from '../contracts/frames.js';
import { packFrames, type WrittenFrame } from './relay-packing.js';
import { type Shard, shardOf } from './relay-shards.js';

/** After a flush the next one waits this long, so that a burst of tokens is one statement; the first goes at once, and so does a wake. */
const flushEveryMs = 15;
/** What waits beyond this is dropped, wakes excepted: the draft row has its text. */
const maxQueuedChars = 8 << 20;
/** One statement carries at most this much, so that a wake is not behind megabytes. */
const flushChars = 1 << 20;

export interface Batch {
  readonly shard: Shard;
  readonly payload: string;
}

export interface FrameQueue {
  push(frames: readonly Frame[]): void;
  drain(): Promise<void>;
}

/** Hears of what the queue does; for who counts it. */
export interface QueueObserver {
  /** A statement went out, so long after the oldest of its frames came. */
  sent(lagMs: number): void;
  dropped(): void;
}

export function frameQueue(
  send: (batch: readonly Batch[]) => Promise<void>,
  observer?: QueueObserver,
): FrameQueue {
  const waiting: WrittenFrame[] = [];
  let chars = 0;
  let oldestAtMs = 0;
  let flushing: Promise<void> | undefined;
  const pause = shortPause();
  const take = (): readonly WrittenFrame[] => {
    let taken = 0;
    let count = 0;
    while (count < waiting.length && taken < flushChars)
      taken += waiting[count++]?.text.length ?? 0;
    chars -= taken;
    return waiting.splice(0, count);
  };
  const flush = async (): Promise<void> => {
    while (waiting.length > 0) {
      try {
        const sinceMs = oldestAtMs;
        const batch = batchOf(take());
        if (observer !== undefined) oldestAtMs = performance.now();
        await send(batch);
        observer?.sent(performance.now() - sinceMs);
      } catch {
        // Lost frames cost a viewer a poll; the connection mends itself.
      }
      // Of a wake there is somebody who waits.
      if (!waiting.some(({ frame }) => frame.kind === 'wake')) await pause.begin(flushEveryMs);
    }
    flushing = undefined;
  };
  return {
    push(frames) {
      for (const frame of frames) {
        const text = textOf(frame);
        if (text === undefined || (chars > maxQueuedChars && frame.kind !== 'wake')) {
          observer?.dropped();
          continue;
        }
        if (observer !== undefined && waiting.length === 0) oldestAtMs = performance.now();
        waiting.push({ frame, text });
        chars += text.length;
        if (frame.kind === 'wake') pause.end();
      }
      // A flush of nothing would be over before it is noted, and never make room for another.
      if (waiting.length > 0) flushing ??= flush();
    },
    drain: async () => flushing,
  };
}

/** A pause that can be ended before its time; ending none is nothing. */
function shortPause() {
  let end = (): void => undefined;
  return {
    begin: (ms: number): Promise<void> =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, ms);
        end = () => {
          clearTimeout(timer);
          resolve();
        };
      }),
    end: () => end(),
  };
}

/** Packed per channel; wakes behind all frames, so that whoever they wake has been shown what came before. */
function batchOf(frames: readonly WrittenFrame[]): readonly Batch[] {
  const shards = new Map<number, WrittenFrame[]>();
  for (const written of frames) {
    if (written.frame.kind === 'wake') continue;
    const shard = shardOf(written.frame.turn);
    const list = shards.get(shard);
    if (list === undefined) shards.set(shard, [written]);
    else list.push(written);
  }
  const wakes = packFrames(frames.filter(({ frame }) => frame.kind === 'wake'));
  return [
    ...[...shards].flatMap(([shard, list]) =>
      packFrames(list).map((payload) => ({ shard, payload })),
    ),
    ...wakes.map((payload) => ({ shard: 'wake' as const, payload })),
  ];
}

/** What a node wrote may be no JSON: the others' frames go on. */
function textOf(frame: Frame): string | undefined {
  try {
    return JSON.stringify(frame);
  } catch {
    return undefined;
  }
}
