/** What an operator may do to a store beside its owner: check it and mend it (SPEC O1-O4). Opens its own connections. */
import { existsSync } from 'node:fs';
import type { ThreadKey } from '../contracts/protocol.js';
import { postgresDriver } from './driver-postgres.js';
import { sqliteDriver } from './driver-sqlite.js';
import { sqliteReader } from './driver-sqlite-reader.js';
import { checkFacts } from './fsck/check-thread.js';
import { checkState } from './fsck/check-state.js';
import { checkStore } from './fsck/check-store.js';
import { listThreads, readFacts } from './fsck/facts.js';
import type { Finding } from './fsck/finding.js';
import { openTurnOf, type OpenTurn } from './fsck/open-turn.js';
import { repairThread } from './fsck/repair.js';
import { lockInstance } from './lock-sqlite.js';
import type { RunningTurnCount } from './list-port.js';
import { checkSchema } from './migrate.js';
import type { StorageTarget } from './open.js';
import { countRunning } from './thread-list.js';
import type { Driver } from './tx.js';

/** A store with data that outlives the process. */
export type DurableTarget = Exclude<StorageTarget, { readonly kind: 'memory' }>;

export interface OperatorStore {
  /** Random id of this database (P1). */
  readonly store: string;
  /** All threads, page by page. */
  threads(): AsyncGenerator<readonly ThreadKey[]>;
  /** Checks one thread in one transaction, so that live traffic never looks like damage (O1). */
  checkThread(thread: ThreadKey): Promise<readonly Finding[]>;
  /** Checks what belongs to no thread. */
  checkStore(): Promise<readonly Finding[]>;
  /** Mends what follows from what is left, in one transaction under the thread lock (O2). */
  repairThread(thread: ThreadKey): Promise<void>;
  /** The thread's earliest unsettled turn, for asking Temporal whether somebody runs it. */
  openTurn(thread: ThreadKey): Promise<OpenTurn | undefined>;
  /** How many turns run, build by build (V1). */
  runningTurns(): Promise<readonly RunningTurnCount[]>;
  close(): Promise<void>;
}

/** Threads per page of the walk. */
const threadsPerPage = 500;

/**
 * Opens the store to read it beside whoever runs on it; to `repair`, a SQLite file is taken over, so its owner must be gone.
 * @throws SchemaMismatch; InstanceLocked when a running instance holds the file to repair; StorageUnavailable
 */
export async function openOperatorStore(
  target: DurableTarget,
  how: 'check' | 'repair',
): Promise<OperatorStore> {
  const { driver, close } = await openDriver(target, how);
  try {
    return operatorStoreOn(driver, await checkSchema(driver), close);
  } catch (error) {
    await close();
    throw error;
  }
}

const operatorStoreOn = (
  driver: Driver,
  store: string,
  close: () => Promise<void>,
): OperatorStore => ({
  store,
  async *threads() {
    for (let after: ThreadKey | undefined; ;) {
      const from = after ?? null;
      const page = await driver.read(() => listThreads(from, threadsPerPage));
      after = page.at(-1);
      if (after === undefined) return;
      yield page;
    }
  },
  checkThread: (thread) =>
    driver.read(function* () {
      const facts = yield* readFacts(thread, 'read');
      if (facts === undefined) return [];
      return [...checkFacts(facts), ...(yield* checkState(thread, facts.row))];
    }),
  checkStore: () => driver.read(() => checkStore(driver.dialect)),
  repairThread: async (thread) => {
    await driver.write(() => repairThread(thread));
  },
  openTurn: (thread) => driver.read(() => openTurnOf(thread)),
  runningTurns: () => driver.read(() => countRunning()),
  close,
});

/** A check may read a table from end to end. */
const checkTimeoutMs = 10 * 60_000;

interface Opened {
  readonly driver: Driver;
  readonly close: () => Promise<void>;
}

async function openDriver(target: DurableTarget, how: 'check' | 'repair'): Promise<Opened> {
  if (target.kind === 'postgres') {
    const driver = await postgresDriver({ ...target, timeoutMs: checkTimeoutMs });
    return { driver, close: () => driver.close() };
  }
  if (!existsSync(target.path)) throw new Error(`There is no database file ${target.path}.`);
  if (how === 'check') {
    const driver = sqliteReader(target.path);
    return { driver, close: () => driver.close() };
  }
  const lock = lockInstance(target.path);
  try {
    const driver = sqliteDriver(target.path);
    return {
      driver,
      close: async () => {
        await driver.close();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}
