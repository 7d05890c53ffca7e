/** Waiting for turns: the relay says when to look, a shared poll looks anyway, and only the committed row answers (DESIGN 7). */
import type { Logger } from 'pino';
import type { Relay } from '../contracts/frames.js';
import type { TurnRecord, TurnStore } from '../storage/port.js';
import { oneAtATime } from './one-at-a-time.js';
import { Problem, toProblem } from './problem.js';
import { verdictOf } from './turn-reply.js';

export interface TurnWatch {
  /**
   * Calls `onNews` when the turn's row is worth reading: a `wake` frame came, or a poll found it settled, gone, or under
   * another fence or step. May call without cause. `onBlind` is called when the database has not answered the polls for long.
   * @returns a function that ends it
   */
  watch(
    turn: Pick<TurnRecord, 'turnId' | 'fence' | 'step'>,
    onNews: () => void,
    onBlind?: () => void,
  ): () => void;
}

/** Restarts and failovers of the database are over before this; a gateway that is cut off alone sends its clients on (A12). */
const blindAfterMs = 10_000;

interface Watcher {
  fence: number;
  step: number;
  readonly onNews: () => void;
  readonly onBlind: (() => void) | undefined;
}

/** One per process: however many wait, one query each 1-2 s looks for them. */
export function turnWatch(deps: {
  readonly turns: Pick<TurnStore, 'peek'>;
  readonly relay: Relay;
  readonly pollMs: number;
  readonly log: Logger;
}): TurnWatch {
  const watched = new Map<string, Set<Watcher>>();
  /** A poll is due or under way: there is never more than one. */
  let polling = false;
  /** When the first poll was sent that had no answer; undefined since the last answer. */
  let blindSinceMs: number | undefined;
  const onFailure = (error: unknown, askedMs: number): void => {
    deps.log.warn({ error: nameOf(error) }, 'cannot poll turns');
    blindSinceMs ??= askedMs;
    if (performance.now() - blindSinceMs < blindAfterMs) return;
    for (const watchers of watched.values()) for (const watcher of watchers) watcher.onBlind?.();
  };

  const poll = async (): Promise<void> => {
    const asked = [...watched.keys()];
    const found = await deps.turns.peek(asked);
    blindSinceMs = undefined;
    for (const id of asked) {
      const row = found.get(id);
      for (const watcher of watched.get(id) ?? []) {
        if (row !== undefined && isOld(watcher, row)) continue;
        watcher.fence = row?.fence ?? watcher.fence;
        watcher.step = row?.step ?? watcher.step;
        watcher.onNews();
      }
    }
  };
  const pollThenAgain = async (): Promise<void> => {
    const askedMs = performance.now();
    await poll().catch((error: unknown) => onFailure(error, askedMs));
    polling = watched.size > 0;
    if (polling) schedule();
  };
  const schedule = (): void => {
    // Jitter: gateways that lost the relay together do not ask together.
    const delay = deps.pollMs * (1 + Math.random());
    setTimeout(() => void pollThenAgain(), delay).unref();
  };

  return {
    watch({ turnId, fence, step }, onNews, onBlind) {
      const watcher: Watcher = { fence, step, onNews, onBlind };
      const watchers = watched.get(turnId) ?? new Set();
      watched.set(turnId, watchers.add(watcher));
      if (!polling) {
        polling = true;
        blindSinceMs = undefined; // what was, is long ago
        schedule();
      }
      const unsubscribe = deps.relay.onWake(turnId, onNews);
      return () => {
        unsubscribe();
        watchers.delete(watcher);
        if (watchers.size === 0 && watched.get(turnId) === watchers) {
          watched.delete(turnId);
        }
      };
    },
  };
}

const isOld = (watcher: Watcher, row: Pick<TurnRecord, 'status' | 'fence' | 'step'>): boolean =>
  (row.status === 'pending' || row.status === 'running') &&
  row.fence === watcher.fence &&
  row.step === watcher.step;

/** The turn as it settled; undefined when `signal`, or a database that does not answer, ended the waiting first. @throws Problem when the thread is erased */
export function untilSettled(
  deps: { readonly turns: TurnStore; readonly watch: TurnWatch; readonly log: Logger },
  turn: TurnRecord,
  signal: AbortSignal,
): Promise<TurnRecord | undefined> {
  if (verdictOf(turn) !== undefined) return Promise.resolve(turn);
  return new Promise((resolve, reject) => {
    const look = oneAtATime(
      async () => {
        const { turnId, thread } = turn;
        const row = await readRow({ log: deps.log, turnId }, () => deps.turns.get(thread, turnId));
        if (row === 'unknown' || signal.aborted) return;
        if (row === undefined) end(() => reject(erased(turn)));
        else if (verdictOf(row) !== undefined) end(() => resolve(row));
      },
      (error) => end(() => reject(toProblem(error, deps.log))),
    );
    const onAbort = (): void => end(() => resolve(undefined));
    const unwatch = deps.watch.watch(turn, look, onAbort);
    const end = (settle: () => void): void => {
      unwatch();
      signal.removeEventListener('abort', onAbort);
      settle();
    };
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
    // A turn that was there before this request may have settled before the watch began.
    else if (turn.fence > 0) look();
  });
}

/** What `read` gives of a turn's row; `unknown` when the database does not say: the next poll asks again. */
export async function readRow<T>(
  { log, turnId }: { readonly log: Logger; readonly turnId: string },
  read: () => Promise<T>,
): Promise<T | 'unknown'> {
  try {
    return await read();
  } catch (error) {
    log.warn({ error: nameOf(error), turn: turnId }, 'cannot read a turn');
    return 'unknown';
  }
}

export const erased = (turn: Pick<TurnRecord, 'thread' | 'turnId'>): Problem =>
  new Problem('thread_deleted', 'The thread was deleted.', {
    thread_id: turn.thread.threadId,
    turn_id: turn.turnId,
  });

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : 'unknown');
