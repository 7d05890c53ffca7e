/**
 * Heads of threads that this process has committed, so that its next turn on a thread reads nothing.
 * Elements of lists are the graph's own objects: an attempt takes the head out, and only a committed one puts it back.
 */
import type { ThreadKey } from '../../contracts/protocol.js';
import type { Driver } from '../tx.js';
import type { Known } from './known.js';
import type { CheckpointModule } from './port.js';

export interface CachedHead {
  readonly epoch: number;
  readonly known: Known;
  /** Seq of the turn that left it. */
  readonly seq: number;
  readonly lastPos: number;
  /** Lists hold objects of this copy of the project's packages. */
  readonly module: CheckpointModule['BaseCheckpointSaver'];
}

/** About 2 kB per message: these bounds keep the cache of a worker below some 200 MB. */
const most = { threads: 1_000, elements: 100_000 };

export class HeadCache {
  readonly #heads = new Map<string, CachedHead>();
  #elements = 0;

  put(thread: ThreadKey, head: CachedHead): void {
    this.take(thread);
    this.#heads.set(keyOf(thread), head);
    this.#elements += sizeOf(head);
    for (const [key, oldest] of this.#heads) {
      if (this.#heads.size <= most.threads && this.#elements <= most.elements) return;
      this.#heads.delete(key);
      this.#elements -= sizeOf(oldest);
    }
  }

  take(thread: ThreadKey): CachedHead | undefined {
    const key = keyOf(thread);
    const head = this.#heads.get(key);
    if (head === undefined) return undefined;
    this.#heads.delete(key);
    this.#elements -= sizeOf(head);
    return head;
  }
}

const caches = new WeakMap<Driver, HeadCache>();

/** One cache per open database. */
export function headsOf(driver: Driver): HeadCache {
  const found = caches.get(driver) ?? new HeadCache();
  caches.set(driver, found);
  return found;
}

const keyOf = ({ tenant, threadId }: ThreadKey): string => `${tenant}\u0000${threadId}`;

const sizeOf = ({ known }: CachedHead): number =>
  [...known.entries.values()].reduce(
    (sum, entry) => sum + (entry.kind === 'list' ? entry.elements.length : 1),
    1,
  );
