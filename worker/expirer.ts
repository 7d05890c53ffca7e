/** Deletes threads that have rested for longer than `checkpointer.ttl` of langgraph.json says (O11). Their histories: `eraser.ts`. */
import type { Logger } from 'pino';
import type { ProjectConfig } from '../engine/project/project-config.js';
import type { ErasureStore } from '../storage/erasure-port.js';
import { startRounds, takeAll, tolerant } from './rounds.js';

/** Threads deleted in one transaction: a delete touches every row of a thread, and others wait meanwhile on SQLite. */
const mostAtOnce = 20;

export interface ExpirerDeps {
  readonly erasure: Pick<ErasureStore, 'expire'>;
  readonly log: Logger;
}

/** @returns a function that ends it and waits for a round under way */
export function startExpirer(
  { erasure, log }: ExpirerDeps,
  ttl: ProjectConfig['threadTtl'],
): () => Promise<void> {
  if (ttl === undefined) return () => Promise.resolve();
  const expire = (most: number): Promise<number> => erasure.expire(ttl.idleMs, most);
  return startRounds(
    tolerant(log, 'could not look for threads whose time is over', async (ending) => {
      const threads = await takeAll(mostAtOnce, expire, ending);
      if (threads > 0) log.info({ threads }, 'deleted threads whose time was over');
    }),
    ttl.sweepEveryMs,
  );
}

/** Of the project that is served; the shipped graphs' threads stay. */
export async function threadTtlOf(
  graphConfig: string | null | undefined,
): Promise<ProjectConfig['threadTtl']> {
  if (graphConfig == null) return undefined;
  const { readProjectConfig } = await import('../engine/project/project-config.js');
  return (await readProjectConfig(graphConfig)).threadTtl;
}
