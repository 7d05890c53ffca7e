/** The threads: each loads the project's isolated graphs once and runs one turn at a time. */
import { Piscina } from 'piscina';
import { fileURLToPath } from 'node:url';
import type { MessagePort, ResourceLimits } from 'node:worker_threads';
import type { Job } from './sides.js';
import { revived, type Thrown } from './thrown.js';

export interface ThreadPoolOptions {
  readonly threads: number;
  /**
   * Heap of each thread; past it the thread ends, and with it its turn. Undefined leaves it to Node. Node does its best:
   * one allocation that is large beside what is left can still end the process.
   */
  readonly memoryMb: number | undefined;
  /** The langgraph.json whose isolated graphs the threads serve. */
  readonly graphConfig: string;
  /** Compiled `thread.ts`; given where this file itself runs from source. */
  readonly threadPath?: string | undefined;
  /** An error that belongs to no turn: of a callback that outlived its turn, or of a thread without one. */
  readonly onStray: (error: unknown) => void;
}

/** A thread's first words. */
export interface ThreadData {
  readonly graphConfig: string;
}

export interface ThreadPool {
  /**
   * Runs the job in the next free thread; resolves when the thread is free again.
   * @param ender takes the job out of the queue, or ends the thread that runs it; another takes its place
   */
  run(job: Job, port: MessagePort, ender: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export function threadPool(options: ThreadPoolOptions): ThreadPool {
  const { threads, memoryMb, graphConfig, threadPath = builtThreadPath, onStray } = options;
  const pool = new Piscina({
    filename: threadPath,
    name: 'runJob',
    // All at once: a pool that may shrink does not refill for what waits when a thread is ended.
    minThreads: threads,
    maxThreads: threads,
    concurrentTasksPerWorker: 1,
    // A thread that sleeps in Atomics.wait between jobs would freeze timers and sockets of the graph's clients.
    atomics: 'disabled',
    workerData: { graphConfig } satisfies ThreadData,
    ...(memoryMb !== undefined && { resourceLimits: limitsOf(memoryMb) }),
  });
  pool.on('error', onStray);
  pool.on('message', (thrown: Thrown) => onStray(revived(thrown)));
  return {
    async run(job, port, ender) {
      await pool.run({ job, port }, { transferList: [port], signal: ender });
    },
    close: () => pool.destroy(),
  };
}

/**
 * At the limit V8 gives a thread 16 MB more to end in. What survives in a young generation of the process's size comes to
 * more than that at once, and V8 then ends the process (Node 24); of this one it does not.
 */
const limitsOf = (memoryMb: number): ResourceLimits => ({
  maxOldGenerationSizeMb: memoryMb,
  maxYoungGenerationSizeMb: 16,
});

/** Beside the compiled code of this file. */
const builtThreadPath = fileURLToPath(new URL('./thread.js', import.meta.url));
