/**
 * Whether the database answers this worker (T7). One that is cut off from it alone must not keep its turns from the others, and
 * cannot know that it is alone: it takes no more turns and stops saying that it is alive, and still commits what it has if
 * nobody else took it.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { ClaimStore, Storage } from '../storage/port.js';
import { isStorageAway } from './failures.js';

/** No answer for so long, and heartbeats stop. A restart or a failover of the database is over before this. */
const lostAfterMs = 8_000;
/** Between two questions whether it answers again. */
const askEveryMs = 500;

export interface DatabaseSight {
  /** It answered when it was last asked; while it does not, turns that come here go back at once. */
  answers(): boolean;
  /** No answer since long: other workers should have the turns that run here. */
  isLost(): boolean;
  /** The same store, with this watching what comes of each question. */
  over(claims: ClaimStore): ClaimStore;
  close(): void;
}

export function databaseSight({ ping }: Pick<Storage, 'ping'>): DatabaseSight {
  /** When the first question was asked that had no answer; undefined since the last answer. */
  let silentSinceMs: number | undefined;
  let closed = false;
  const untilItAnswers = async (): Promise<void> => {
    while (silentSinceMs !== undefined && !closed) {
      try {
        await ping();
        silentSinceMs = undefined;
      } catch {
        await pause(askEveryMs, undefined, { ref: false });
      }
    }
  };
  const watched =
    <A extends readonly unknown[], R>(ask: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      const askedMs = performance.now();
      try {
        const answer = await ask(...args);
        silentSinceMs = undefined;
        return answer;
      } catch (error) {
        if (isStorageAway(error) && silentSinceMs === undefined) {
          silentSinceMs = askedMs;
          void untilItAnswers();
        }
        throw error;
      }
    };
  return {
    answers: () => silentSinceMs === undefined,
    isLost: () => silentSinceMs !== undefined && performance.now() - silentSinceMs > lostAfterMs,
    over: (claims) => ({
      ...claims,
      claim: watched((...args) => claims.claim(...args)),
      look: watched((...args) => claims.look(...args)),
      flush: watched((...args) => claims.flush(...args)),
      settle: watched((...args) => claims.settle(...args)),
      lookUp: watched((...args) => claims.lookUp(...args)),
    }),
    close: () => {
      closed = true;
    },
  };
}
