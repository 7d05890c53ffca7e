/** Accepting a turn (P9): one transaction, then a wake that may fail without anything being lost. */
import { randomUUID } from 'node:crypto';
import { reachCrashPoint } from '../contracts/crash-point.js';
import { startsAt } from '../contracts/turn-input.js';
import { type AcceptTurn, type Accepted, CommitUnknown, type TurnRecord } from '../storage/port.js';
import type { Gateway } from './gateway.js';
import { Problem, unavailable } from './problem.js';
import { tellMoved } from './tell-moved.js';
import { verdictOf } from './turn-reply.js';

export interface AcceptedTurn {
  readonly turn: TurnRecord;
  /** The key was known: the turn is an earlier request's. */
  readonly attached: boolean;
  /** Whether Temporal has taken the wake. Never rejects: without it the sweeper wakes. */
  readonly woken: Promise<boolean>;
}

/** @throws Problem for every refusal */
export async function acceptTurn(
  gateway: Gateway,
  asked: Omit<AcceptTurn, 'turnId' | 'defaultGraph' | 'maxPending'>,
): Promise<AcceptedTurn> {
  const turnId = randomUUID();
  // Nothing of the turn is published before its wake, so whoever hears by then misses no beginning.
  const hearable = asked.stream ? gateway.relay.hearable(turnId) : undefined;
  const outcome = await acceptOnce(gateway, {
    ...asked,
    turnId,
    defaultGraph: gateway.graphs.default,
    maxPending: gateway.settings.maxPending,
  });
  switch (outcome.kind) {
    case 'accepted':
    case 'attached': {
      reachCrashPoint('after-accept', asked.thread.threadId);
      await hearable;
      const { turn, kind } = outcome;
      if (kind === 'accepted') tellMoved(gateway, outcome.cancelled);
      return { turn, attached: kind === 'attached', woken: wakeFor(gateway, turn) };
    }
    case 'key_reused':
      throw new Problem('idempotency_key_reused', 'This key was used with another body.');
    case 'turn_in_progress':
      throw new Problem(
        'turn_in_progress',
        'A turn is in progress; multitask "enqueue" waits for it.',
      );
    case 'queue_full':
      throw new Problem('rate_limited', 'Too many turns wait on this thread.', {}, retrySoon);
    case 'graph_mismatch':
      throw new Problem('graph_mismatch', 'The thread is bound to another graph.');
    case 'user_mismatch':
      throw new Problem('user_mismatch', 'The thread belongs to another user.');
    case 'resume_stale':
      throw new Problem('resume_stale', 'The thread does not wait for a resume.');
    case 'not_found':
      throw new Problem('not_found', 'There is no such thread.');
    case 'thread_interrupted':
      throw new Problem(
        'thread_interrupted',
        'The thread waits for an answer; its fields can be written when it has one.',
      );
    case 'base_changed':
      throw new Problem('base_changed', baseChanged(outcome.version, asked), {
        version: outcome.version,
      });
  }
}

/** A thread that went backwards has no newer base to offer: whoever saw more must read it again. */
function baseChanged(
  version: number,
  { input, ifVersion = 0 }: Pick<AcceptTurn, 'input' | 'ifVersion'>,
): string {
  const from = startsAt(input) ?? 0;
  if (from > version)
    return `The thread has no version ${from} to go on from: it is at version ${version}.`;
  return version < ifVersion
    ? `The thread is at version ${version}, before the version ${ifVersion} that was wanted: its database was restored to an earlier time, or it was deleted and began again. Read it again.`
    : 'The thread has another version.';
}

/** A queue of turns moves about once a second. */
const retrySoon = { 'Retry-After': '1' };

/** A COMMIT of unknown outcome is looked up by the id that we made (P9). */
async function acceptOnce({ storage }: Gateway, input: AcceptTurn): Promise<Accepted> {
  try {
    reachCrashPoint('before-accept', input.thread.threadId);
    return await storage.turns.accept(input);
  } catch (error) {
    if (!(error instanceof CommitUnknown)) throw error;
  }
  const ids = { thread_id: input.thread.threadId, turn_id: input.turnId };
  const turn = await storage.turns.findAccepted(input.thread, input.turnId).catch(() => undefined);
  if (turn === undefined) throw unavailable('The database does not answer.', ids);
  // Whom `multitask` has cancelled is not known here: their worker and waiters find out by looking.
  return { kind: 'accepted', turn, cancelled: [] };
}

/** An attached turn is woken too: its first wake may have been lost. */
async function wakeFor({ wake, log }: Gateway, turn: TurnRecord): Promise<boolean> {
  if (verdictOf(turn) !== undefined) return true;
  const { thread, turnId, seq, graph } = turn;
  try {
    await wake.wake({ thread, turnId, seq, graph }, { start: true });
    return true;
  } catch (error) {
    log.warn(
      { thread: thread.threadId, turn: turnId, error: error instanceof Error ? error.name : '' },
      'cannot wake a thread: the sweeper will',
    );
    return false;
  }
}
