/** A whole durable system in one process: real Temporal, real storage, a worker, and turns accepted as the gateway does. */
import * as langgraph from '@langchain/langgraph';
import * as checkpoint from '@langchain/langgraph-checkpoint';
import * as messages from '@langchain/core/messages';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { pino } from 'pino';
import type { Relay } from '../../contracts/frames.js';
import type { SettledStatus } from '../../contracts/protocol.js';
import type { Waker } from '../../contracts/waker.js';
import type { LoadedGraph } from '../../engine/project/types.js';
import { openStorage } from '../../storage/open.js';
import type { StorageTarget } from '../../storage/open.js';
import { localRelay } from '../../storage/relay-local.js';
import type { AcceptTurn, Storage, TurnInput, TurnRecord } from '../../storage/port.js';
import { connectTemporal, openTemporal } from '../../temporal/connection.js';
import type { TemporalConnection } from '../../temporal/connection.js';
import { isTemporalUnavailable } from '../../temporal/errors.js';
import { installRuntime } from '../../temporal/runtime.js';
import { temporalWaker } from '../../temporal/waker.js';
import { startWorkerSide } from '../../worker/worker-side.js';
import type { WorkerSide, WorkerSideSettings } from '../../worker/worker-side.js';
import { until } from './until.js';

export const bundlePath = path.resolve('dist/workflow-bundle.js');

/** A graph of our own copy, as the loader would hand it on. */
export const loaded = (name: string, graph: unknown): LoadedGraph => ({
  name,
  graph: graph as LoadedGraph['graph'],
  modules: {
    langgraph,
    messages,
    checkpoint,
    versions: { langgraph: '1.7.3', core: '1.4.0', checkpoint: '1.2.2' },
  },
});

export interface DurableOptions {
  readonly address: string;
  readonly graphs: readonly LoadedGraph[];
  readonly target?: StorageTarget;
  readonly threadIdleMs?: number | null;
  /** That of one process unless given. */
  readonly relay?: Relay;
  /** That of an earlier system, whose runs are still there. */
  readonly taskQueue?: string;
  readonly sweep?: { readonly everyMs: number; readonly quietMs: number };
  readonly turnsAtOnce?: number;
  /** Which task queues the worker serves, and where graphs live. */
  readonly placed?: Pick<WorkerSideSettings, 'queues' | 'places' | 'placeWaitMs'>;
  /** Stands between the system and its storage and Temporal client, as the fault port does. */
  readonly wrap?: {
    readonly storage?: (storage: Storage) => Storage;
    readonly waker?: (waker: Waker) => Waker;
  };
}

/** As at the gateway: what was accepted stays so when Temporal is away or slow, and the sweeper wakes the thread. */
export const forgivingWaker = (waker: Waker): Waker => ({
  wake: (turn, options) =>
    waker.wake(turn, options).catch((error: unknown) => {
      if (!isTemporalUnavailable(error)) throw error;
    }),
});

export interface Durable {
  readonly storage: Storage;
  readonly relay: Relay;
  readonly connection: TemporalConnection;
  readonly wake: Waker;
  readonly taskQueue: string;
  worker: WorkerSide;
  /** After the one that runs; beside it only on another connection, by the SDK's own rule. */
  startWorker(
    placed?: DurableOptions['placed'],
    native?: TemporalConnection['native'],
  ): Promise<WorkerSide>;
  /** Accepts a turn and wakes its thread; the row is its receipt. */
  post(
    threadId: string,
    input: TurnInput | string,
    more?: Partial<AcceptTurn>,
  ): Promise<TurnRecord>;
  /** Waits until the turn is settled. */
  settled(turn: TurnRecord): Promise<TurnRecord & { readonly status: SettledStatus }>;
  stop(): Promise<void>;
}

export async function durable(options: DurableOptions): Promise<Durable> {
  const opened = await openStorage(options.target ?? { kind: 'memory' }, { autoMigrate: true });
  const storage = options.wrap?.storage?.(opened) ?? opened;
  installRuntime(() => undefined);
  const settings = { address: options.address, namespace: 'default', security: {} };
  const connection = await connectTemporal(settings);
  const taskQueue = options.taskQueue ?? `test-${randomUUID()}`;
  const direct = temporalWaker(openTemporal(settings, connection), {
    taskQueue,
    store: storage.store,
  });
  const wake = options.wrap?.waker?.(direct) ?? direct;
  const relay = options.relay ?? localRelay();
  const graphs = new Map(options.graphs.map((g) => [g.name, g]));
  const startWorker = (placed = options.placed, native = connection.native): Promise<WorkerSide> =>
    startWorkerSide(
      {
        storage,
        relay,
        graphs,
        connection: native,
        wake: (turn) => wake.wake(turn, { start: true }),
        log: pino({ level: 'silent' }),
      },
      {
        namespace: 'default',
        taskQueue,
        turnTimeoutMs: 600_000,
        stepTimeoutMs: 300_000,
        threadIdleMs: options.threadIdleMs === undefined ? 600_000 : options.threadIdleMs,
        drainMs: 5_000,
        sweep: options.sweep ?? { everyMs: 5_000, quietMs: 30_000 },
        bundlePath,
        turnsAtOnce: options.turnsAtOnce ?? 200,
        ...placed,
      },
    );
  const system: Durable = {
    storage,
    relay,
    connection,
    wake,
    taskQueue,
    worker: await startWorker(),
    async startWorker(...given) {
      system.worker = await startWorker(...given);
      return system.worker;
    },
    async post(threadId, input, more = {}) {
      const accepted = await storage.turns.accept({
        thread: { tenant: 'default', threadId },
        turnId: randomUUID(),
        defaultGraph: options.graphs[0]?.name ?? '',
        input: typeof input === 'string' ? { kind: 'message', text: input } : input,
        digest: 'test',
        multitask: 'enqueue',
        stream: false,
        maxPending: 1_000,
        ...more,
      });
      if (accepted.kind !== 'accepted' && accepted.kind !== 'attached')
        throw new Error(accepted.kind);
      const { thread, turnId, seq, graph } = accepted.turn;
      await wake.wake({ thread, turnId, seq, graph }, { start: true });
      return accepted.turn;
    },
    settled: (turn) =>
      until(`turn ${turn.seq} of ${turn.thread.threadId}`, async () => {
        const row = await storage.turns.get(turn.thread, turn.turnId);
        return row !== undefined && row.settledAtMs !== null
          ? (row as TurnRecord & { status: SettledStatus })
          : undefined;
      }),
    async stop() {
      await system.worker.stop();
      await connection.close();
      await storage.close();
    },
  };
  return system;
}
