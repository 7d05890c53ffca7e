/** Flushes of one attempt: one in flight, the next takes everything buffered (P4, P5). */
import type { Flushed } from '../port.js';
import type { PutBuffer } from './buffer.js';
import type { AttemptOptions, FlushRows } from './port.js';
import { rowsOf } from './write-rows.js';

type Lost = Exclude<Flushed, { readonly kind: 'flushed' }> | Error;

/** The claim is lost or the attempt is over: this run may write no more. */
export class AttemptEnded extends Error {
  override readonly name = 'AttemptEnded';
}

export class FlushQueue {
  /** A root superstep that is finished and not flushed. */
  superstep: FlushRows['superstep'] = null;
  readonly #buffer: PutBuffer;
  readonly #options: AttemptOptions;
  readonly #onLost: (outcome: Lost) => void;
  #tail: Promise<void> = Promise.resolve();
  #inFlight = 0;
  #early: NodeJS.Immediate | 'after the one in flight' | undefined;
  #finished: AttemptEnded | undefined;
  #lost: AttemptEnded | undefined;

  constructor(buffer: PutBuffer, options: AttemptOptions, onLost: (outcome: Lost) => void) {
    this.#buffer = buffer;
    this.#options = options;
    this.#onLost = onLost;
  }

  assertOpen(): void {
    const ended = this.#lost ?? this.#finished;
    if (ended !== undefined) throw ended;
  }

  /** A put that ends the superstep comes in microtasks when the task was its last, and then this flush is not needed. */
  scheduleEarly(): void {
    if (this.#early !== undefined) return;
    if (this.#inFlight > 0) {
      this.#early = 'after the one in flight';
      return;
    }
    this.#early = setImmediate(() => {
      this.#early = undefined;
      this.flush().catch(() => undefined); // onLost has told
    });
  }

  cancelEarly(): void {
    if (typeof this.#early === 'object') clearImmediate(this.#early);
    this.#early = undefined;
  }

  /** Resolves when all that is buffered now is durable. */
  flush(): Promise<void> {
    this.#inFlight += 1;
    const flushed = this.#tail.then(() => this.#flushOnce());
    this.#tail = flushed.catch(() => undefined);
    return flushed.finally(() => {
      this.#inFlight -= 1;
      if (this.#early !== 'after the one in flight' || this.#inFlight > 0) return;
      this.#early = undefined;
      if (this.#lost === undefined && this.#finished === undefined) this.scheduleEarly();
    });
  }

  async finish(): Promise<FlushRows> {
    this.assertOpen();
    this.cancelEarly();
    this.#finished = new AttemptEnded('the attempt is finished');
    await this.#tail;
    if (this.#lost !== undefined) throw this.#lost;
    return this.#take();
  }

  async #flushOnce(): Promise<void> {
    if (this.#lost !== undefined) throw this.#lost;
    if (this.#buffer.isEmpty && this.superstep === null) return;
    try {
      const rows = await this.#take();
      const outcome = await this.#options.flush(this.#options.turn.claim, rows);
      if (outcome.kind !== 'flushed') throw this.#lose(outcome);
    } catch (error) {
      if (error instanceof AttemptEnded) throw error;
      throw this.#lose(error instanceof Error ? error : new Error(String(error)));
    }
  }

  async #take(): Promise<FlushRows> {
    const { superstep } = this;
    this.superstep = null;
    const rows = await rowsOf(this.#buffer.take(), this.#options.writerVersion);
    return { ...rows, superstep };
  }

  #lose(outcome: Lost): AttemptEnded {
    const cause = outcome instanceof Error ? outcome : undefined;
    const reason =
      outcome instanceof Error ? 'a flush failed' : `a flush was refused: ${outcome.kind}`;
    this.#lost = new AttemptEnded(reason, { cause });
    this.cancelEarly();
    this.#onLost(outcome);
    return this.#lost;
  }
}
