/** What this process runs now. One per worker process. */
import type { RunTurnResult } from '../contracts/protocol.js';
import type { Claim, ClaimLook, ClaimStore } from '../storage/port.js';

/** How soon a moved fence (cancel, delete, a newer claim) is noticed without the relay's wake; a person waits for a Stop button. */
const tickMs = 500;

interface Watched {
  readonly claim: Claim;
  readonly onLook: (look: ClaimLook) => void;
}

export interface LiveRuns {
  /** Runs `work`, or gives the promise of the same activity that is still alive here from an earlier attempt (DESIGN 4, "Also"). */
  adopt(activity: string, work: () => Promise<RunTurnResult>): Promise<RunTurnResult>;
  /** Calls `onLook` with the turn's row twice a second, one query for all runs (P6). @returns a function that ends it */
  watch(claim: Claim, onLook: (look: ClaimLook) => void): () => void;
  /** Looks at once: the relay says that a row has changed. */
  look(): void;
  /** Registers a run that can be asked to stop at its next superstep border. @returns a function that ends it */
  onDrain(request: () => void): () => void;
  /** Asks every run, and those to come, to stop at its next superstep border. */
  drain(): void;
  /** Registers a run that can be told to let go at once. @returns a function that ends it */
  onAbandon(letGo: () => void): () => void;
  /** Tells every run to let go at once: the time for draining is over. */
  abandon(): void;
  close(): void;
}

export function liveRuns(claims: Pick<ClaimStore, 'look'>): LiveRuns {
  const activities = new Map<string, Promise<RunTurnResult>>();
  const watched = new Set<Watched>();
  const drains = new Set<() => void>();
  const abandons = new Set<() => void>();
  let draining = false;
  let looking = false;

  const look = async (): Promise<void> => {
    if (looking || watched.size === 0) return;
    looking = true;
    try {
      const found = await claims.look([...watched].map((w) => w.claim));
      for (const w of watched) {
        const seen = found.get(w.claim.turnId);
        if (seen !== undefined) w.onLook(seen);
      }
    } catch {
      // The database is away: the run's own next write says what that means.
    } finally {
      looking = false;
    }
  };
  const ticker = setInterval(() => void look(), tickMs);
  ticker.unref();

  return {
    adopt(activity, work) {
      const running = activities.get(activity);
      if (running !== undefined) return running;
      const promise = work().finally(() => activities.delete(activity));
      activities.set(activity, promise);
      return promise;
    },
    watch(claim, onLook) {
      const entry = { claim, onLook };
      watched.add(entry);
      return () => watched.delete(entry);
    },
    look: () => void look(),
    onDrain(request) {
      drains.add(request);
      if (draining) request();
      return () => drains.delete(request);
    },
    drain() {
      draining = true;
      for (const request of drains) request();
    },
    onAbandon(letGo) {
      abandons.add(letGo);
      return () => abandons.delete(letGo);
    },
    abandon() {
      for (const letGo of abandons) letGo();
    },
    close: () => clearInterval(ticker),
  };
}
