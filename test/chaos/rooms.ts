/** Threads as clients share them: each room moves on to a new thread when the old one has got long. */
import { canaryOf } from './history.js';

export type Graph = 'chat' | 'steps' | 'ask';

export interface Room {
  readonly name: string;
  readonly graph: Graph;
  /** Its threads are cancelled and deleted, too. */
  readonly wild: boolean;
  /** The next turn's thread and text. */
  next(options: string): { readonly thread: string; readonly text: string };
  readonly thread: string;
  /** Turns whose id is known, newest last. */
  readonly recent: { readonly thread: string; readonly turnId: string }[];
  /** Finished turns that had a key, newest last. */
  readonly finished: { readonly thread: string; readonly key: string; readonly body: unknown }[];
}

/** Long enough to meet every race with a history behind it, short enough to read back. */
const turnsPerThread = 40;
const kept = 30;

export function room(name: string, graph: Graph, wild = false): Room {
  const [recent, finished]: [Room['recent'], Room['finished']] = [[], []];
  let n = 0;
  const thread = (): string => `${name}-g${Math.floor(n / turnsPerThread)}`;
  return {
    ...{ name, graph, wild, recent, finished },
    next(options) {
      const now = thread();
      n += 1;
      return { thread: now, text: `${options} ${canaryOf(now, n)}`.trim() };
    },
    get thread() {
      return thread();
    },
  };
}

export function remember<T>(list: T[], entry: T): void {
  list.push(entry);
  if (list.length > kept) list.shift();
}
