/** A saver without turn and fence over the same tables and the same code, for LangGraph's own conformance suite: each call is a flush. */
import { randomUUID } from 'node:crypto';
import * as checkpoint from '@langchain/langgraph-checkpoint';
import { Checkpoints } from '../../storage/saver/checkpoints.js';
import type { Serde } from '../../storage/saver/pack.js';
import { readsOn } from '../../storage/saver/reads.js';
import { readLastPos, type View } from '../../storage/saver/rows.js';
import {
  type At,
  makeSaver,
  type PutCheckpoint,
  type PutWrites,
  type SaverStore,
} from '../../storage/saver/saver-class.js';
import { rowsOf } from '../../storage/saver/write-rows.js';
import { writeRows } from '../../storage/saver-rows.js';
import { type Driver, query, run } from '../../storage/tx.js';

/** Each saver has a tenant of its own, so that it begins empty. */
export function unfencedSaver(driver: Driver): checkpoint.BaseCheckpointSaver {
  const tenant = randomUUID();
  const saver = makeSaver(checkpoint, () => store, 0);
  const store = new UnfencedStore(driver, saver.serde, tenant);
  return saver;
}

class UnfencedStore implements SaverStore {
  readonly #driver: Driver;
  readonly #serde: Serde;
  readonly #tenant: string;

  constructor(driver: Driver, serde: Serde, tenant: string) {
    this.#tenant = tenant;
    this.#driver = driver;
    this.#serde = serde;
  }

  async getTuple({ threadId, ns, checkpointId }: At) {
    return (await this.#open(threadId)).tuple(ns, checkpointId);
  }

  async *list(at: Partial<At>, options: checkpoint.CheckpointListOptions | undefined) {
    const threadIds = at.threadId === undefined ? await this.#threadIds() : [at.threadId];
    let left = options?.limit ?? Infinity;
    for (const threadId of threadIds) {
      const checkpoints = await this.#open(threadId);
      for await (const tuple of checkpoints.list(at.ns, at.checkpointId ?? null, options)) {
        if (left <= 0) return;
        left -= 1;
        yield tuple;
      }
    }
  }

  async put({ threadId, ns, checkpointId }: At, put: PutCheckpoint): Promise<void> {
    const checkpoints = await this.#open(threadId);
    const parent = checkpointId === null ? null : await checkpoints.find(ns, checkpointId);
    checkpoints.buffer.keepAll(ns);
    checkpoints.put(ns, parent, put);
    await this.#flush(threadId, checkpoints);
  }

  async putWrites(at: At & { readonly checkpointId: string }, put: PutWrites): Promise<void> {
    const checkpoints = await this.#open(at.threadId);
    await checkpoints.newest(at.ns);
    await Promise.all(checkpoints.putWrites(at.ns, at.checkpointId, put));
    await this.#flush(at.threadId, checkpoints);
  }

  async deleteThread(threadId: string): Promise<void> {
    const tenant = this.#tenant;
    await this.#driver.write(function* () {
      for (const table of ['et_checkpoints', 'et_deltas', 'et_writes']) {
        yield* run(`DELETE FROM ${table} WHERE tenant = $1 AND thread_id = $2`, tenant, threadId);
      }
    });
  }

  async #open(threadId: string): Promise<Checkpoints> {
    const view: View = {
      thread: { tenant: this.#tenant, threadId },
      epoch: 1,
      headSeq: -1,
      ownSeq: 1,
    };
    const lastPos = await this.#driver.read(() => readLastPos(view));
    const writer = { serde: this.#serde, verify: true };
    return new Checkpoints({ reads: readsOn(this.#driver, view), writer, threadId, lastPos });
  }

  async #flush(threadId: string, checkpoints: Checkpoints): Promise<void> {
    const rows = await rowsOf(checkpoints.buffer.take(), 'test');
    const claim = {
      thread: { tenant: this.#tenant, threadId },
      epoch: 1,
      seq: 1,
      turnId: 'turn',
      fence: 1,
    };
    await this.#driver.write(() => writeRows(claim, { ...rows, superstep: null }));
  }

  async #threadIds(): Promise<readonly string[]> {
    const rows = await this.#driver.read(() =>
      query<{ thread_id: string }>(
        'SELECT DISTINCT thread_id FROM et_checkpoints WHERE tenant = $1',
        this.#tenant,
      ),
    );
    return rows.map(({ thread_id }) => thread_id);
  }
}
