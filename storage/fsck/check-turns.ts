/** Invariants of a thread's turns (DESIGN 5 and 6, P8). Pure. */
import type { TurnFacts, ThreadFacts } from './facts.js';
import { broken, onlyBackup, warning, type Finding } from './finding.js';

/** Longer than any healthy silence of a turn that somebody runs: a step's default deadline. */
const quietMs = 5 * 60_000;

export const isSettled = ({ status }: Pick<TurnFacts, 'status'>): boolean =>
  status !== 'pending' && status !== 'running';

export function checkTurns(facts: ThreadFacts): readonly Finding[] {
  const { row, turns } = facts;
  return turns.flatMap((turn) => {
    if (turn.epoch < row.epoch) return deadTurn(facts, turn);
    if (turn.epoch > row.epoch || row.deleted === 1) return [unborn(facts, turn)];
    return livingTurn(facts, turn);
  });
}

const aboutOf = ({ thread }: ThreadFacts, turn: TurnFacts) => ({
  thread,
  epoch: turn.epoch,
  seq: turn.seq,
  turnId: turn.turn_id,
});

/** P8: the epoch is over, so its turns are settled and empty. */
function deadTurn(facts: ThreadFacts, turn: TurnFacts): Finding[] {
  const found: Finding[] = [];
  if (!isSettled(turn) || turn.settled_at_ms === null) {
    found.push(
      broken(
        'dead_turn_open',
        aboutOf(facts, turn),
        `A turn of epoch ${turn.epoch}, which is over, is still ${turn.status}.`,
        { repair: 'settles it aborted under a higher fence' },
      ),
    );
  }
  if (turn.content === 1) {
    found.push(
      broken(
        'dead_turn_content',
        aboutOf(facts, turn),
        `A turn of epoch ${turn.epoch}, which is over, still holds content.`,
        { repair: 'erases the content' },
      ),
    );
  }
  return found;
}

const unborn = (facts: ThreadFacts, turn: TurnFacts): Finding =>
  broken(
    'turn_of_unborn_epoch',
    aboutOf(facts, turn),
    `The turn belongs to epoch ${turn.epoch}, which has not begun: the thread is ` +
      `${facts.row.deleted === 1 ? 'deleted before' : 'in'} epoch ${facts.row.epoch}.`,
    onlyBackup,
  );

function livingTurn(facts: ThreadFacts, turn: TurnFacts): Finding[] {
  const about = aboutOf(facts, turn);
  if (isSettled(turn) !== (turn.settled_at_ms !== null)) {
    const what = `The turn is ${turn.status}, and its time of settling ${turn.settled_at_ms === null ? 'is missing' : 'is set'}.`;
    return [broken('turn_status_torn', about, what, onlyBackup)];
  }
  const missing = missingOf(turn);
  if (missing !== undefined) return [broken('turn_incomplete', about, missing, onlyBackup)];
  const isFirst = turn.seq === facts.row.settled_seq + 1;
  if (!isSettled(turn) && isFirst && turn.silent_ms > quietMs) {
    const minutes = Math.round(turn.silent_ms / 60_000);
    return [
      warning(
        'turn_quiet',
        about,
        `The turn is ${turn.status} and has shown no progress for ${minutes} min.`,
        {
          advice: 'A worker wakes it again by itself. Check that workers run and Temporal answers.',
        },
      ),
    ];
  }
  return [];
}

/** What a settled turn must have, by its status. */
function missingOf(turn: TurnFacts): string | undefined {
  switch (turn.status) {
    case 'committed':
    case 'interrupted': {
      const { version, base_version: base } = turn;
      if (turn.replied === 0) return `The turn is ${turn.status} without a reply.`;
      if (version === null || turn.checkpoint_id === null) {
        return `The turn is ${turn.status} without a version or a checkpoint.`;
      }
      if (base !== version - 1)
        return `The turn made version ${version} of version ${base ?? 'none'}.`;
      if (turn.status === 'interrupted' && turn.interrupts === null) {
        return 'The turn is interrupted without a question.';
      }
      return undefined;
    }
    case 'failed':
      return turn.failure_code === null ? 'The turn failed without a reason.' : undefined;
    case 'aborted':
      return 'The turn is aborted, and its epoch is not over.';
    case 'cancelled':
    case 'pending':
    case 'running':
      return undefined;
  }
}
