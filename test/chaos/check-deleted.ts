/** Nothing of a deleted epoch is ever visible again, and no thread shows another one's texts. */
import type { Indexed } from './indexed.js';
import { said } from './check-answers.js';
import { canariesIn, threadOfCanary, type Op, type Violation } from './history.js';

export function* checkDeleted(history: Indexed): Iterable<Violation> {
  yield* checkBleed(history);
  const dead = deaths(history.ops);
  yield* checkSeen(history.ops, dead);
  if (history.moment === 'end') yield* checkErased(history);
}

/** All that an operation was shown. */
const shownTo = (op: Op): string[] => [
  ...canariesIn(op.body ?? ''),
  ...(op.events ?? []).flatMap(({ data }) => canariesIn(data)),
  ...(op.list ?? []).flatMap(({ text }) => canariesIn(text)),
];

function* checkBleed({ ops, calls }: Indexed): Iterable<Violation> {
  for (const op of ops) {
    for (const canary of shownTo(op)) {
      if (threadOfCanary(canary) !== op.thread) {
        yield { kind: 'bleed', detail: `${said(op)} was shown ${canary}` };
      }
    }
  }
  for (const call of calls) {
    if (call.threads.some((thread) => thread !== threadOfCanary(call.canary))) {
      yield {
        kind: 'bleed',
        detail: `the model was shown ${call.threads.join(', ')} for ${call.canary}`,
      };
    }
  }
}

interface Deaths {
  /** When a canary's epoch was surely gone: a delete was acknowledged that began after the turn was answered. */
  readonly canaryDeadAt: ReadonlyMap<string, number>;
  /** The same for epochs of a thread: [epoch, since]. */
  readonly epochDeadAt: ReadonlyMap<string, readonly (readonly [number, number])[]>;
}

function deaths(ops: readonly Op[]): Deaths {
  const canaryDeadAt = new Map<string, number>();
  const epochDeadAt = new Map<string, (readonly [number, number])[]>();
  const deletes = ops.filter(({ kind, result }) => kind === 'delete' && result === 'ok');
  const livedLater = new Map<string, number>();
  for (const op of ops) {
    if (op.kind !== 'turn' || op.epoch === undefined) continue;
    for (const canary of canariesIn(op.text ?? '')) {
      livedLater.set(canary, Math.max(livedLater.get(canary) ?? 0, op.endMs));
    }
  }
  for (const remove of deletes) {
    const before = ops.filter(
      ({ kind, thread, epoch, endMs }) =>
        kind === 'turn' &&
        thread === remove.thread &&
        epoch !== undefined &&
        endMs < remove.startMs,
    );
    const epoch = Math.max(0, ...before.map((op) => op.epoch ?? 0));
    const epochs = epochDeadAt.get(remove.thread) ?? [];
    epochDeadAt.set(remove.thread, [...epochs, [epoch, remove.endMs]]);
    for (const op of before) {
      for (const canary of canariesIn(op.text ?? '')) {
        // A key that was used again in a later epoch has brought its text back.
        if ((livedLater.get(canary) ?? 0) > remove.startMs) continue;
        canaryDeadAt.set(canary, Math.min(canaryDeadAt.get(canary) ?? Infinity, remove.endMs));
      }
    }
  }
  return { canaryDeadAt, epochDeadAt };
}

function* checkSeen(
  ops: readonly Op[],
  { canaryDeadAt, epochDeadAt }: Deaths,
): Iterable<Violation> {
  for (const op of ops) {
    for (const canary of shownTo(op)) {
      if (op.startMs > (canaryDeadAt.get(canary) ?? Infinity)) {
        yield { kind: 'resurrected', detail: `${said(op)} was shown ${canary} after its delete` };
      }
    }
    if (op.result !== 'ok' || op.epoch === undefined) continue;
    for (const [epoch, since] of epochDeadAt.get(op.thread) ?? []) {
      if (op.startMs > since && op.epoch <= epoch) {
        yield { kind: 'resurrected', detail: `${said(op)} answered from epoch ${op.epoch}` };
      }
    }
  }
}

/** No table holds a text that belongs to no turn of a living epoch. */
function* checkErased({ store }: Indexed): Iterable<Violation> {
  const epochs = new Map(store.threads.map((row) => [row.thread, row]));
  const alive = new Set<string>();
  for (const turn of store.turns) {
    const thread = epochs.get(turn.thread);
    const over = thread === undefined || thread.deleted || thread.epoch !== turn.epoch;
    const texts = canariesIn(turn.text);
    if (!over) for (const canary of texts) alive.add(canary);
    else if (texts.length > 0) {
      yield { kind: 'resurrected', detail: `turn ${turn.turnId} of a dead epoch holds its text` };
    }
  }
  for (const { table, canary } of store.canaries) {
    if (!alive.has(canary)) {
      yield { kind: 'resurrected', detail: `${table} holds ${canary}, which no living turn has` };
    }
  }
}
