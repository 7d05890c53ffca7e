/** What the main thread and a thread of the pool may ask of each other while one turn runs. */
import { createBirpc, type BirpcReturn } from 'birpc';
import type { MessagePort } from 'node:worker_threads';
import type { FrameBody } from '../../contracts/frames.js';
import type { RunEvent } from '../../contracts/run-event.js';
import type { GraphRun, Stop } from '../../engine/port.js';
import type { ClaimedTurn, Flushed } from '../../storage/port.js';
import type { AttemptOptions, FlushRows } from '../../storage/saver/port.js';
import type { AttemptReads } from '../../storage/saver/reads.js';
import type { StoreAnswer, StoreOp } from '../../storage/graph-store/port.js';
import { revived, type Thrown, thrownOf } from './thrown.js';

/** One turn for a thread. */
export interface Job {
  readonly graph: string;
  readonly turn: ClaimedTurn;
  readonly saver: Pick<AttemptOptions, 'hold' | 'verify'>;
  readonly run: RunData;
  /** Somebody hears the run. */
  readonly told: boolean;
}

/** Everything of a run that is data. */
export type RunData = Omit<
  GraphRun,
  'graph' | 'attempt' | 'store' | 'signal' | 'drain' | 'emit' | 'tell' | 'onBegin' | 'heldThread'
>;

/** How the thread's part ended. */
export interface JobEnd {
  readonly stop: Exclude<Stop, { kind: 'threw' }> | { kind: 'threw'; thrown: Thrown };
  /** What is left for the settling transaction. */
  readonly rows: FlushRows | null;
  readonly headCheckpointId: string | null;
}

/** What a thread asks of the main thread. */
export interface MainSide extends AttemptReads {
  /** The job has left the queue. */
  taken(): void;
  /** The graph itself begins: it is loaded, and its state is read. */
  began(): void;
  frame(body: FrameBody): void;
  tell(event: RunEvent): void;
  flush(rows: FlushRows): Promise<Flushed>;
  /** What the graph asks of its store. */
  store(ops: readonly StoreOp[]): Promise<readonly StoreAnswer[]>;
  ended(end: JobEnd): void;
}

/** What the main thread asks of a thread. */
export interface ThreadSide {
  abort(): void;
  drain(): void;
}

interface Answer {
  readonly e?: unknown;
}

/** Errors cross as data: cloning would take their class and all fields but the words. A run waits as long as it takes. */
export const talk = <Remote extends object, Local extends object>(
  port: MessagePort,
  local: Local,
): BirpcReturn<Remote, Local> =>
  createBirpc<Remote, Local>(local, {
    post: (data) => port.postMessage(data),
    on: (listen) => port.on('message', listen),
    off: (listen) => port.off('message', listen),
    serialize: (m: Answer) => (m.e === undefined ? m : { ...m, e: thrownOf(m.e) }),
    deserialize: (m: Answer) => (m.e === undefined ? m : { ...m, e: revived(m.e as Thrown) }),
    timeout: -1,
  });

/** Cloning a view copies the whole buffer below it, and small ones stand in large shared buffers. */
export function compact<T>(value: T): T {
  if (ArrayBuffer.isView(value)) return new Uint8Array(value as unknown as Uint8Array) as T;
  if (Array.isArray(value)) return value.map(compact) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, compact(v)])) as T;
}
