/** The main thread's end of an attempt whose saver stands in a thread: the claim's flushes go out here, and its last rows come in. */
import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import type { Flushed } from '../../storage/port.js';
import type { Attempt, AttemptOptions, FlushRows } from '../../storage/saver/port.js';
import type { JobEnd } from './sides.js';

type Lost = Parameters<Attempt['onLost']>[0];

export class RemoteAttempt implements Attempt {
  readonly options: AttemptOptions;
  readonly hasRows: boolean;
  readonly writtenBy = null;
  successors: Attempt['successors'] = () => [];
  onSuperstep: Attempt['onSuperstep'] = () => undefined;
  onLost: (outcome: Lost) => void = () => undefined;
  /** What the thread has left; undefined when it was ended, or has died. */
  end: JobEnd | undefined;

  constructor(options: AttemptOptions) {
    this.options = options;
    this.hasRows = options.turn.hasRows;
  }

  get saver(): BaseCheckpointSaver {
    throw elsewhere();
  }

  baseValues(): Promise<undefined> {
    return Promise.reject(elsewhere());
  }

  /** A flush that the thread asks for. What it says of a lost claim is told here, at once. */
  async flush(rows: FlushRows): Promise<Flushed> {
    try {
      const flushed = await this.options.flush(this.options.turn.claim, rows);
      if (flushed.kind !== 'flushed') this.onLost(flushed);
      return flushed;
    } catch (error) {
      this.onLost(error instanceof Error ? error : new Error(String(error)));
      throw error;
    }
  }

  headCheckpointId(): string | null {
    return this.end?.headCheckpointId ?? null;
  }

  finish(): Promise<FlushRows> {
    const rows = this.end?.rows;
    return rows ? Promise.resolve(rows) : Promise.reject(new Error('the thread left no rows'));
  }

  /** The thread keeps a head when its run ends well: the next turn takes it only if it is the one that was committed. */
  keep(): void {
    return;
  }

  /** The thread has dropped it. */
  drop(): void {
    return;
  }
}

const elsewhere = (): Error => new Error('the saver of an isolated graph stands in its thread');
