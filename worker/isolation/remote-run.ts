/** The main thread's end of one run in a thread: answers what the thread asks, and ends it when its turn is over. */
import type { Logger } from 'pino';
import { MessageChannel } from 'node:worker_threads';
import type { GraphRun, Stop } from '../../engine/port.js';
import type { StoreAnswer, StoreOp } from '../../storage/graph-store/port.js';
import { StorageUnavailable, type Storage } from '../../storage/port.js';
import type { ProjectStore } from '../project-store.js';
import { RemoteAttempt } from './remote-attempt.js';
import { compact, type Job, type MainSide, talk, type ThreadSide } from './sides.js';
import type { ThreadPool } from './thread-pool.js';
import { revived } from './thrown.js';

/**
 * A run that is over but does not let its thread go is ended with it after this: long enough for a node that looks at
 * its signal to clean up, short enough that a stuck loop does not keep a thread from others.
 */
const graceMs = 2_000;

export interface RemoteRunDeps {
  readonly pool: ThreadPool;
  readonly storage: Pick<Storage, 'attemptReads' | 'graphStore'>;
  readonly store: Pick<ProjectStore, 'ttl'>;
  readonly log: Logger;
}

export class RemoteRun {
  /** As `RunToStop`: never rejects for what the graph does. */
  readonly stop: Promise<Stop>;
  readonly #deps: RemoteRunDeps;
  readonly #run: GraphRun;
  readonly #attempt: RemoteAttempt;
  readonly #thread: ReturnType<typeof talk<ThreadSide, MainSide>>;
  /** Takes the job out of the queue, or ends its thread. */
  readonly #ender = new AbortController();
  /** The thread is free again, or gone. Its last words may still be on their way: they come through a port of their own. */
  readonly #done: Promise<void>;
  #taken = false;
  #open = true;
  #resolve!: (stop: Stop) => void;
  #reject!: (error: unknown) => void;

  constructor(deps: RemoteRunDeps, run: GraphRun) {
    if (!(run.attempt instanceof RemoteAttempt))
      throw new Error('this attempt holds its own saver');
    this.#deps = deps;
    this.#run = run;
    this.#attempt = run.attempt;
    this.stop = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const { port1, port2 } = new MessageChannel();
    this.#thread = talk<ThreadSide, MainSide>(port1, this.#mainSide());
    const aborted = (): void => this.#abort();
    this.#done = deps.pool
      .run(this.#job(), port2, this.#ender.signal)
      .catch((error: unknown) => {
        this.#died(error);
        port1.close();
      })
      .finally(() => run.signal.removeEventListener('abort', aborted));
    run.drain.request = () => this.#drain();
    if (run.signal.aborted) aborted();
    else run.signal.addEventListener('abort', aborted, { once: true });
  }

  #job(): Job {
    const {
      graph,
      attempt: _a,
      signal: _s,
      drain: _d,
      emit: _e,
      tell,
      onBegin: _b,
      ...data
    } = this.#run;
    const { turn, hold, verify = false } = this.#attempt.options;
    return {
      graph: graph.name,
      turn,
      saver: { hold, verify },
      run: data,
      told: tell !== undefined,
    };
  }

  #mainSide(): MainSide {
    const { emit, tell, onBegin } = this.#run;
    const reads = this.#deps.storage.attemptReads(this.#attempt.options.turn);
    return {
      taken: () => void (this.#taken = true),
      began: () => onBegin?.(),
      frame: (body) => {
        if (this.#open) emit(body);
      },
      tell: (event) => tell?.(event),
      opening: () => this.#read(reads.opening()),
      checkpoint: (ns, id) => this.#read(reads.checkpoint(ns, id)),
      list: (ns) => this.#read(reads.list(ns)),
      // A run that is over writes no more, as if somebody else had claimed its turn.
      flush: async (rows) =>
        this.#open ? await this.#attempt.flush(rows) : { kind: 'fence_lost' },
      store: (ops) => this.#store(ops),
      ended: (end) => {
        this.#attempt.end = end;
        const { stop } = end;
        this.#settle(stop.kind === 'threw' ? { kind: 'threw', error: revived(stop.thrown) } : stop);
      },
    };
  }

  /** A database that is away is no error of the graph: whoever called decides. */
  async #read<T>(rows: Promise<T>): Promise<T> {
    try {
      return compact(await rows);
    } catch (error) {
      this.#reject(error);
      this.#abort();
      throw error;
    }
  }

  async #store(ops: readonly StoreOp[]): Promise<readonly StoreAnswer[]> {
    if (!this.#open) throw new Error('the turn is over');
    const { storage, store } = this.#deps;
    const { tenant } = this.#attempt.options.turn.claim.thread;
    const answers = storage.graphStore.batch(tenant, ops, store.ttl);
    return answers.catch((error: unknown) =>
      error instanceof StorageUnavailable ? this.#read(answers) : Promise.reject(error as Error),
    );
  }

  #settle(stop: Stop): void {
    this.#open = false;
    this.#resolve(stop);
  }

  /** Ended by itself: `process.exit` in the graph, out of memory, a project that does not load there. */
  #died(error: unknown): void {
    if (!this.#open) return;
    this.#deps.log.error({ ...this.#who(), err: error }, 'a thread failed while it ran a graph');
    this.#settle({ kind: 'threw', error });
  }

  #drain(): void {
    if (this.#taken) return void this.#thread.drain.asEvent();
    this.#settle({ kind: 'yielded' });
    this.#ender.abort();
  }

  #abort(): void {
    this.#settle({ kind: 'aborted' });
    if (!this.#taken) {
      this.#ender.abort();
      return;
    }
    void this.#thread.abort.asEvent();
    const late = setTimeout(() => {
      const what = 'a node held its thread after its turn had ended, so the thread was ended';
      this.#deps.log.warn({ ...this.#who(), graceMs }, what);
      this.#ender.abort();
    }, graceMs);
    void this.#done.finally(() => clearTimeout(late));
  }

  #who(): object {
    const { thread, turnId } = this.#attempt.options.turn.claim;
    return { graph: this.#run.graph.name, thread: thread.threadId, turn: turnId };
  }
}
