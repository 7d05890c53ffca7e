/** A history with what its checks look up again and again. Pure. */
import type { History, StoredTurn } from './history.js';

/** `live`: the run goes on, so nothing is said about what is still to come. */
export type Moment = 'live' | 'end';

/** The history with what the checks look up again and again. */
export interface Indexed extends History {
  readonly moment: Moment;
  readonly turnById: ReadonlyMap<string, StoredTurn>;
  /** Turns of one epoch in seq order, by `thread/epoch`. */
  readonly lives: ReadonlyMap<string, readonly StoredTurn[]>;
  /** What a turn was sent with: from its row, or from the operations when the row is erased. */
  readonly textOf: ReadonlyMap<string, string>;
}

export const lifeOf = (turn: { readonly thread: string; readonly epoch: number }): string =>
  `${turn.thread}/${turn.epoch}`;

export function indexed(history: History, moment: Moment): Indexed {
  const turnById = new Map(history.store.turns.map((turn) => [turn.turnId, turn]));
  const lives = new Map<string, StoredTurn[]>();
  for (const turn of history.store.turns) {
    const life = lives.get(lifeOf(turn));
    if (life === undefined) lives.set(lifeOf(turn), [turn]);
    else life.push(turn);
  }
  for (const life of lives.values()) life.sort((a, b) => a.seq - b.seq);
  const textOf = new Map<string, string>();
  for (const { turnId, text } of history.store.turns) if (text !== '') textOf.set(turnId, text);
  for (const { kind, turnId, text } of history.ops) {
    if (kind === 'turn' && turnId !== undefined && text !== undefined && !textOf.has(turnId)) {
      textOf.set(turnId, text);
    }
  }
  return { ...history, moment, turnById, lives, textOf };
}

/** The turns that advanced an epoch's version: what its state is made of, in order. */
export const lineOf = (life: readonly StoredTurn[]): readonly StoredTurn[] =>
  life.filter((turn) => turn.version !== null);
