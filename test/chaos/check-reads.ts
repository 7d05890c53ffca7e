/** Reads of a thread: each shows a prefix of what later ones show, and the last one shows exactly the committed turns. */
import { lifeOf, lineOf, type Indexed } from './indexed.js';
import { said } from './check-answers.js';
import { canariesIn, type Op, type StoredTurn, type Violation } from './history.js';

export function* checkReads(history: Indexed): Iterable<Violation> {
  const reads = history.ops.filter(
    (op) => op.result === 'ok' && op.list !== undefined && op.epoch !== undefined,
  );
  yield* checkPrefixes(reads);
  const epochs = new Map(history.store.threads.map((row) => [row.thread, row.epoch]));
  for (const read of reads) {
    if (read.final !== true || epochs.get(read.thread) !== read.epoch) continue;
    const life = history.lives.get(lifeOf({ thread: read.thread, epoch: read.epoch ?? 0 })) ?? [];
    yield* checkFinal(read, lineOf(life));
  }
}

const users = (op: Op): readonly string[] =>
  (op.list ?? []).filter(({ role }) => role === 'user').map(({ text }) => text);

/** Two reads of one epoch: the one that ended before the other began shows a prefix. */
function* checkPrefixes(reads: readonly Op[]): Iterable<Violation> {
  const newest = new Map<string, Op>();
  for (const read of [...reads].sort((a, b) => a.startMs - b.startMs)) {
    const life = lifeOf({ thread: read.thread, epoch: read.epoch ?? 0 });
    const before = newest.get(life);
    if (before !== undefined && before.endMs < read.startMs) {
      const [earlier, later] = [users(before), users(read)];
      if (earlier.some((text, at) => later[at] !== text)) {
        yield {
          kind: 'read-went-back',
          detail: `${said(read)}: ${later.join(' | ')} after ${earlier.join(' | ')}`,
        };
      }
    }
    if (before === undefined || read.endMs > before.endMs) newest.set(life, read);
  }
}

/** When all is quiet, messages and state are the committed turns: their texts, and their replies. */
function* checkFinal(read: Op, line: readonly StoredTurn[]): Iterable<Violation> {
  const [shown, committed] = [
    users(read).flatMap(canariesIn),
    line.flatMap(({ text }) => canariesIn(text)),
  ];
  if (shown.join(' ') !== committed.join(' ')) {
    yield {
      kind: 'turn-order',
      detail: `${said(read)} shows ${shown.join(' ')}, committed are ${committed.join(' ')}`,
    };
  }
  const replies = new Set(
    (read.list ?? []).filter(({ role }) => role === 'assistant').map(({ text }) => text),
  );
  for (const turn of line) {
    if (turn.response !== '' && !replies.has(turn.response)) {
      yield { kind: 'turn-order', detail: `${said(read)} lacks the reply "${turn.response}"` };
    }
  }
}
