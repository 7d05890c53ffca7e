/** Gives each run the store of its tenant, whatever store its graph was compiled with (M17). */
import type { Logger } from 'pino';
import type { GraphRun, Runner, Stop } from '../engine/port.js';
import { makeGraphStore } from '../storage/graph-store/store-class.js';
import { StorageUnavailable, type Storage } from '../storage/port.js';
import type { ProjectStore } from './project-store.js';
import { startRounds, takeAll, tolerant } from './rounds.js';

/** A runner whose graphs have a store, in this thread. */
export const withStores = (
  runner: Runner,
  storage: Pick<Storage, 'graphStore'>,
  { ttl, index }: ProjectStore,
): Runner => ({
  ...runner,
  async runToStop(run: GraphRun): Promise<Stop> {
    const { tenant } = run.identity;
    let away: StorageUnavailable | undefined;
    const store = makeGraphStore(run.graph.modules.checkpoint, {
      index,
      batch: async (ops) => {
        // What a node still does after its turn has ended reaches nobody.
        run.signal.throwIfAborted();
        try {
          return await storage.graphStore.batch(tenant, ops, ttl);
        } catch (error) {
          if (error instanceof StorageUnavailable) away = error;
          throw error;
        }
      },
    });
    const stop = await runner.runToStop(store === undefined ? run : { ...run, store });
    // A database that is away is no error of the graph: its turn is tried again for as long as it takes.
    if (stop.kind === 'threw' && away !== undefined) throw away;
    return stop;
  },
});

/** Items removed in one transaction. */
const mostAtOnce = 500;

/** @returns a function that ends the sweeping and waits for a round under way */
export function startStoreSweeper(
  { storage, log }: { readonly storage: Pick<Storage, 'graphStore'>; readonly log: Logger },
  everyMs: number | null,
): () => Promise<void> {
  if (everyMs === null) return () => Promise.resolve();
  const sweep = (most: number): Promise<number> => storage.graphStore.sweep(most);
  return startRounds(
    tolerant(log, 'could not sweep items of graphs', async (ending) => {
      await takeAll(mostAtOnce, sweep, ending);
    }),
    everyMs,
  );
}
