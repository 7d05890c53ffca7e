/** What the rows alone must say: one list of turns per thread, dense versions, one turn per key, settled is final. */
import { lifeOf, lineOf, type Indexed } from './indexed.js';
import { isSettled, type RowChange, type StoredTurn, type Violation } from './history.js';

export function* checkStore(history: Indexed): Iterable<Violation> {
  for (const life of history.lives.values()) yield* checkLine(life);
  yield* checkThreads(history);
  yield* checkOnce(history);
  yield* checkChanges(history.store.changes);
  if (history.moment === 'end') yield* checkSettled(history);
}

const named = (turn: StoredTurn): string =>
  `${turn.thread}/${turn.epoch} seq ${turn.seq} (${turn.turnId})`;

/** Versions are 1..n in seq order, and each turn stands on the one before it. */
function* checkLine(life: readonly StoredTurn[]): Iterable<Violation> {
  let version = 0;
  for (const turn of lineOf(life)) {
    version += 1;
    if (turn.version !== version) {
      yield {
        kind: 'version-density',
        detail: `${named(turn)} has version ${turn.version}, expected ${version}`,
      };
      version = turn.version ?? version;
    }
    if (turn.baseVersion !== version - 1) {
      yield {
        kind: 'base-version',
        detail: `${named(turn)} has version ${version} on base ${turn.baseVersion}`,
      };
    }
  }
}

function* checkThreads({ store, lives }: Indexed): Iterable<Violation> {
  for (const row of store.threads) {
    const life = lives.get(lifeOf(row)) ?? [];
    const line = lineOf(life);
    if (row.version !== line.length) {
      yield {
        kind: 'version-density',
        detail: `${row.thread}/${row.epoch} has version ${row.version} and ${line.length} turns that advanced it`,
      };
    }
    const open = life.find((turn) => !isSettled(turn.status));
    const through = open === undefined ? row.nextSeq - 1 : open.seq - 1;
    if (row.settledSeq !== through) {
      yield {
        kind: 'settled-seq',
        detail: `${row.thread}/${row.epoch} says settled through ${row.settledSeq}, its turns say ${through}`,
      };
    }
  }
}

/** A key, and a text that only one key was sent with, has one turn that did not fail. */
function* checkOnce({ lives, textOf, store }: Indexed): Iterable<Violation> {
  for (const life of lives.values()) {
    const seen = new Map<string, StoredTurn>();
    for (const turn of life) {
      const text = textOf.get(turn.turnId);
      if (text === undefined || turn.status === 'failed') continue;
      const before = seen.get(text);
      if (before !== undefined) {
        yield { kind: 'turn-twice', detail: `"${text}" is ${named(before)} and ${named(turn)}` };
      }
      seen.set(text, turn);
    }
  }
  for (const key of store.keys) {
    const turns = lives.get(lifeOf(key)) ?? [];
    if (!turns.some((turn) => turn.seq === key.seq)) {
      yield { kind: 'key-without-turn', detail: `${lifeOf(key)} key ${key.key} seq ${key.seq}` };
    }
  }
}

/** Over every change of every row: fences only rise, holders of one run only move on, and settled rows stand still. */
function* checkChanges(changes: readonly RowChange[]): Iterable<Violation> {
  const last = new Map<string, RowChange>();
  const claimed = new Map<string, RowChange>();
  for (const now of changes) {
    const before = last.get(now.turnId);
    last.set(now.turnId, now);
    if (before !== undefined) yield* checkChange(before, now);
    if (now.status !== 'running' || now.fence === before?.fence) continue;
    const holder = claimed.get(now.turnId);
    claimed.set(now.turnId, now);
    if (holder !== undefined && isEarlier(now, holder)) {
      yield {
        kind: 'zombie-claim',
        detail: `${now.turnId}: activity ${now.activityId} attempt ${now.attempt} claimed after ${holder.activityId}.${holder.attempt} of the same run`,
      };
    }
  }
}

function* checkChange(before: RowChange, now: RowChange): Iterable<Violation> {
  const change = `${now.turnId}: ${before.status} fence ${before.fence} version ${before.version} → ${now.status} fence ${now.fence} version ${now.version}`;
  if (now.fence < before.fence) yield { kind: 'fence-fell', detail: change };
  const same =
    now.status === before.status && now.fence === before.fence && now.version === before.version;
  if (isSettled(before.status) && !same) yield { kind: 'settled-again', detail: change };
}

const isEarlier = (a: RowChange, b: RowChange): boolean =>
  a.runId === b.runId &&
  ((a.activityId ?? 0) < (b.activityId ?? 0) ||
    (a.activityId === b.activityId && (a.attempt ?? 0) < (b.attempt ?? 0)));

/** Failures that a fault of the model may cause; any other one is ours. */
const modelFailures = /^(model_|resume_stale|base_changed)/;

function* checkSettled({ store }: Indexed): Iterable<Violation> {
  for (const turn of store.turns) {
    if (!isSettled(turn.status))
      yield { kind: 'unsettled', detail: `${named(turn)} is ${turn.status}` };
    if (turn.failure !== null && !modelFailures.test(turn.failure)) {
      yield { kind: 'failed', detail: `${named(turn)} failed: ${turn.failure}` };
    }
  }
}
