/** What was paid for, and on which base: model calls per claim, and the history that each call was shown. */
import { lifeOf, lineOf, type Indexed } from './indexed.js';
import {
  canariesIn,
  digestOf,
  type ModelCall,
  type StoredTurn,
  type Violation,
} from './history.js';

export function* checkModelCalls(history: Indexed): Iterable<Violation> {
  const known = turnsByCanary(history);
  if (history.moment === 'end') yield* checkCost(history, known);
  yield* checkBase(history, known);
  yield* checkPosition(history);
}

interface Known {
  readonly turns: ReadonlyMap<string, readonly StoredTurn[]>;
  /** Threads with a turn of which nothing says what it was sent with. */
  readonly unclear: ReadonlySet<string>;
}

function turnsByCanary({ store, textOf }: Indexed): Known {
  const turns = new Map<string, StoredTurn[]>();
  const unclear = new Set<string>();
  for (const turn of store.turns) {
    const [canary] = canariesIn(textOf.get(turn.turnId) ?? '');
    if (canary === undefined) unclear.add(turn.thread);
    else turns.set(canary, [...(turns.get(canary) ?? []), turn]);
  }
  return { turns, unclear };
}

/** Each claim runs each call at most once: a turn costs one call more per lost worker, and a replay costs none. */
function* checkCost({ calls }: Indexed, { turns, unclear }: Known): Iterable<Violation> {
  const counts = new Map<string, { readonly call: ModelCall; count: number }>();
  for (const call of calls) {
    const name = `${call.canary}/${call.step}`;
    const found = counts.get(name);
    if (found === undefined) counts.set(name, { call, count: 1 });
    else found.count += 1;
  }
  for (const { call, count } of counts.values()) {
    const own = turns.get(call.canary);
    const thread = call.canary.split('.')[1] ?? '';
    if (unclear.has(thread)) continue;
    if (own === undefined) {
      yield { kind: 'call-without-turn', detail: `${call.canary}: no turn was sent with it` };
      continue;
    }
    const claims = own.reduce((sum, turn) => sum + turn.fence, 0);
    if (count > claims) {
      yield {
        kind: 'cost',
        detail: `${call.canary} ${call.step}: ${count} model calls under ${claims} claims`,
      };
    }
  }
}

/**
 * A call is shown the turns committed before its own, in order, and its own text. Left out are calls of which nothing says
 * whose they are: a request without an answer may have been a turn that a delete erased before its key was sent again.
 */
function* checkBase(
  { calls, lives, ops, store }: Indexed,
  { turns, unclear }: Known,
): Iterable<Violation> {
  const epochs = new Map(store.threads.map((row) => [row.thread, row.epoch]));
  const unanswered = new Set(
    ops
      .filter(({ kind, turnId }) => kind === 'turn' && turnId === undefined)
      .flatMap(({ text }) => canariesIn(text ?? '')),
  );
  const lines = new Map<string, ReturnType<typeof lineOf>>();
  for (const call of calls) {
    const own = turns.get(call.canary);
    const turn = own?.[0];
    if (turn === undefined || own?.length !== 1) continue;
    if (unclear.has(turn.thread) && unanswered.has(call.canary)) continue;
    if (epochs.get(turn.thread) !== turn.epoch || turn.text === '') continue;
    const life = lifeOf(turn);
    const line = lines.get(life) ?? lineOf(lives.get(life) ?? []);
    lines.set(life, line);
    const before = line.filter(({ seq }) => seq < turn.seq);
    const texts = [...before, turn].flatMap(({ text }) => canariesIn(text));
    if (digestOf(texts) !== call.digest) {
      yield {
        kind: 'stale-base',
        detail: `${call.canary} ${call.step} at ${Math.round(call.atMs)} ms was shown ${call.users} user messages, expected ${texts.length}`,
      };
    }
  }
}

/** The scripted model says how many user messages it was shown: each reply names its place in the list. */
function* checkPosition({ lives, store }: Indexed): Iterable<Violation> {
  const epochs = new Map(store.threads.map((row) => [row.thread, row.epoch]));
  for (const life of lives.values()) {
    for (const [at, turn] of lineOf(life).entries()) {
      const seen = /^seen (\d+): /.exec(turn.response)?.[1];
      if (seen === undefined || epochs.get(turn.thread) !== turn.epoch) continue;
      if (Number(seen) !== at + 1) {
        yield {
          kind: 'stale-base',
          detail: `${turn.thread}/${turn.epoch} seq ${turn.seq} is turn ${at + 1} and answers as turn ${seen}`,
        };
      }
    }
  }
}
