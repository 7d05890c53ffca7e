/**
 * A thread's rows in memory and attempts over them that keep the contract of `storage/saver/port.ts`: what a turn flushed
 * survives a crash, what it buffered does not. Values go through LangGraph's serde, as in a database.
 */
import {
  BaseCheckpointSaver,
  compareWritesSortKeys,
  copyCheckpoint,
  WRITES_IDX_MAP,
  writesSortKey,
  type Checkpoint,
  type CheckpointMetadata,
  type CheckpointTuple,
  type PendingWrite,
} from '@langchain/langgraph-checkpoint';
import type { RunnableConfig } from '@langchain/core/runnables';
import type { Attempt, FlushRows } from '../../storage/saver/port.js';

type Bytes = readonly [string, Uint8Array];
interface PutRow {
  readonly kind: 'put';
  readonly ns: string;
  readonly id: string;
  readonly parentId: string | undefined;
  readonly body: Promise<Bytes>;
  readonly metadata: Promise<Bytes>;
}
interface WriteRow {
  readonly kind: 'write';
  readonly ns: string;
  readonly id: string;
  readonly taskId: string;
  readonly taskPath: string;
  readonly idx: number;
  readonly channel: string;
  readonly value: Promise<Bytes>;
}
type Row = PutRow | WriteRow;

interface Configurable {
  readonly thread_id?: string;
  readonly checkpoint_ns?: string;
  readonly checkpoint_id?: string;
}

export class Crash extends Error {
  override readonly name = 'Crash';
}

const nullTask = '00000000-0000-0000-0000-000000000000';
const noRows: FlushRows = { checkpoints: [], deltas: [], writes: [], superstep: null };

/** What the database knows of one thread. */
export class MemoryThread {
  rows: Row[] = [];
  head: string | null = null;
  turn: { rows: Row[]; step: number; recovered: { pending: string[]; ran: string[] } | null } = {
    rows: [],
    step: 0,
    recovered: null,
  };

  /** The turn's rows and head become everybody's; the next turn begins. */
  settle(attempt: MemoryAttempt): void {
    this.rows.push(...this.turn.rows, ...attempt.buffer);
    this.head = attempt.headCheckpointId();
    this.turn = { rows: [], step: 0, recovered: null };
  }

  fail(): void {
    this.turn = { rows: [], step: 0, recovered: null };
  }
}

export interface MemoryAttemptOptions {
  readonly turnId: string;
  readonly hold: boolean;
  /** The flush at which the process dies, counting from 1; the settlement counts as the last one. */
  readonly crashAt?: number;
}

export class MemoryAttempt implements Attempt {
  readonly saver: MemoryAttemptSaver;
  readonly hasRows: boolean;
  readonly flushes: string[][] = [];
  buffer: Row[] = [];
  successors: Attempt['successors'] = () => [];
  onSuperstep: Attempt['onSuperstep'] = () => undefined;
  onTask: Attempt['onTask'] = () => undefined;
  onLost: Attempt['onLost'] = () => undefined;
  readonly #thread: MemoryThread;
  readonly #options: MemoryAttemptOptions;
  #hold: boolean;
  #flushed = 0;
  #dead = false;
  #step: number;
  #pending: readonly string[] = [];

  constructor(thread: MemoryThread, options: MemoryAttemptOptions) {
    this.#thread = thread;
    this.#options = options;
    this.#hold = options.hold && thread.turn.rows.length === 0;
    this.#step = thread.turn.step;
    this.#pending = thread.turn.recovered?.pending ?? [];
    this.hasRows = thread.turn.rows.length > 0;
    this.saver = new MemoryAttemptSaver(this, options.turnId);
  }

  get view(): readonly Row[] {
    return [...this.#thread.rows, ...this.#thread.turn.rows, ...this.buffer];
  }

  async baseValues(): Promise<Readonly<Record<string, unknown>> | undefined> {
    const head = this.#thread.rows.find((r) => r.kind === 'put' && r.id === this.#thread.head);
    if (head?.kind !== 'put') return undefined;
    return (await this.saver.load<Checkpoint>(head.body)).channel_values;
  }

  headCheckpointId(): string | null {
    return this.view.findLast((r) => r.kind === 'put' && r.ns === '')?.id ?? null;
  }

  async put(row: PutRow, checkpoint: Checkpoint, metadata: CheckpointMetadata): Promise<void> {
    this.#alive();
    const before = this.view.findLast((r): r is PutRow => r.kind === 'put' && r.ns === '');
    this.buffer.push(row);
    if (row.ns !== '') return metadata.source === 'loop' && !this.#hold ? this.flush() : undefined;
    const next = this.successors(checkpoint);
    this.#pending = next;
    if (metadata.source !== 'loop') return;
    const ran = await this.#ran(before, checkpoint);
    if (ran.length === 0) return;
    this.#step += 1;
    this.onSuperstep({ step: this.#step, nodes: ran });
    if (next.length > 0) await this.flush({ pending: [...next], ran: [...ran] });
  }

  async putWrites(rows: readonly WriteRow[]): Promise<void> {
    this.#alive();
    for (const row of rows) {
      const same = (r: Row): boolean =>
        r.kind === 'write' && r.id === row.id && r.taskId === row.taskId && r.idx === row.idx;
      if (row.idx >= 0 && this.view.some(same)) continue;
      this.buffer.push(row);
    }
    const [first] = rows;
    if (first === undefined || first.taskId === nullTask || first.idx < 0) return;
    if (first.ns === '') this.onTask();
    const isCall = first.taskPath.endsWith('0000000001');
    if (!this.#hold && (isCall || this.#pending.length > 1)) await this.flush();
  }

  async flush(superstep?: { pending: string[]; ran: string[] }): Promise<void> {
    this.#countFlush();
    this.#hold = false;
    const { turn } = this.#thread;
    this.flushes.push(this.buffer.map((r) => r.kind));
    turn.rows.push(...this.buffer);
    this.buffer = [];
    if (superstep !== undefined) {
      turn.step = this.#step;
      turn.recovered = superstep;
    }
  }

  async finish(): Promise<FlushRows> {
    this.#countFlush();
    return noRows;
  }

  keep(): void {
    // Nothing is cached.
  }
  drop(): void {
    // Nothing is cached.
  }

  #countFlush(): void {
    this.#alive();
    this.#flushed += 1;
    if (this.#flushed !== this.#options.crashAt) return;
    this.#dead = true;
    const crash = new Crash();
    this.onLost(crash);
    throw crash;
  }

  #alive(): void {
    if (this.#dead) throw new Crash();
  }

  /** Nodes whose triggers a superstep has marked as seen, LangGraph's own left out. */
  async #ran(before: PutRow | undefined, after: Checkpoint): Promise<string[]> {
    const was = before && (await this.saver.load<Checkpoint>(before.body)).versions_seen;
    return Object.entries(after.versions_seen)
      .filter(([name]) => name !== '__start__' && name !== '__interrupt__' && name !== '__input__')
      .filter(([name, seen]) => JSON.stringify(seen) !== JSON.stringify(was?.[name]))
      .filter(([, seen]) => Object.keys(seen).length > 0)
      .map(([name]) => name);
  }
}

class MemoryAttemptSaver extends BaseCheckpointSaver {
  readonly #attempt: MemoryAttempt;
  readonly #turnId: string;

  constructor(attempt: MemoryAttempt, turnId: string) {
    super();
    this.#attempt = attempt;
    this.#turnId = turnId;
  }

  async load<T>(bytes: Promise<Bytes>): Promise<T> {
    return (await this.serde.loadsTyped(...(await bytes))) as T;
  }

  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const { checkpoint_ns: ns = '', checkpoint_id: id }: Configurable = config.configurable ?? {};
    const row = this.#attempt.view.findLast(
      (r): r is PutRow => r.kind === 'put' && r.ns === ns && (!id || r.id === id),
    );
    return row && this.#tuple(row, config);
  }

  async #tuple(row: PutRow, config: RunnableConfig): Promise<CheckpointTuple> {
    const at = (id: string): RunnableConfig => ({
      configurable: {
        thread_id: config.configurable?.thread_id as unknown,
        checkpoint_ns: row.ns,
        checkpoint_id: id,
      },
    });
    const writes = this.#attempt.view
      .filter((r) => r.kind === 'write')
      .filter((r) => r.ns === row.ns && r.id === row.id)
      .filter(
        (r, i, all) => !all.slice(i + 1).some((b) => b.taskId === r.taskId && b.idx === r.idx),
      )
      .sort((a, b) =>
        compareWritesSortKeys(
          writesSortKey(a.taskPath, a.taskId, a.idx),
          writesSortKey(b.taskPath, b.taskId, b.idx),
        ),
      );
    return {
      config: at(row.id),
      checkpoint: await this.load(row.body),
      metadata: await this.load(row.metadata),
      pendingWrites: await Promise.all(
        writes.map(async (w) => [w.taskId, w.channel, await this.load(w.value)] as never),
      ),
      ...(row.parentId !== undefined && { parentConfig: at(row.parentId) }),
    };
  }

  async *list(config: RunnableConfig): AsyncGenerator<CheckpointTuple> {
    const { checkpoint_ns: ns = '' }: Configurable = config.configurable ?? {};
    for (const row of [...this.#attempt.view].reverse()) {
      if (row.kind === 'put' && row.ns === ns) yield this.#tuple(row, config);
    }
  }

  async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
  ): Promise<RunnableConfig> {
    const {
      thread_id,
      checkpoint_ns: ns = '',
      checkpoint_id,
    }: Configurable = config.configurable ?? {};
    const copy = copyCheckpoint(checkpoint);
    const row: PutRow = {
      kind: 'put',
      ns,
      id: checkpoint.id,
      parentId: checkpoint_id,
      body: this.#dump(copy),
      metadata: this.#dump({ ...metadata, run_id: this.#turnId }),
    };
    await this.#attempt.put(row, copy, metadata);
    return { configurable: { thread_id, checkpoint_ns: ns, checkpoint_id: checkpoint.id } };
  }

  async putWrites(
    config: RunnableConfig,
    writes: PendingWrite[],
    taskId: string,
    taskPath = '',
  ): Promise<void> {
    const { checkpoint_ns: ns = '', checkpoint_id }: Configurable = config.configurable ?? {};
    await this.#attempt.putWrites(
      writes.map(([channel, value], i) => ({
        kind: 'write' as const,
        ns,
        id: checkpoint_id as string,
        taskId,
        taskPath,
        idx: WRITES_IDX_MAP[channel] ?? i,
        channel,
        value: this.#dump(value),
      })),
    );
  }

  async #dump(value: unknown): Promise<Bytes> {
    return this.serde.dumpsTyped(value);
  }

  async deleteThread(): Promise<void> {
    throw new Error('not of an attempt');
  }
}
