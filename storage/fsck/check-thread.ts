/** Invariants of a thread's row and of what hangs on its turns (DESIGN 6, P1, P5, P8). Pure: facts in, findings out. */
import { checkTurns, isSettled } from './check-turns.js';
import type { Held, ThreadFacts, TurnFacts } from './facts.js';
import { broken, onlyBackup, type Finding } from './finding.js';

export const checkFacts = (facts: ThreadFacts): readonly Finding[] => [
  ...checkCounters(facts),
  ...checkVersions(facts),
  ...checkHead(facts),
  ...checkTurns(facts),
  ...checkBelongings(facts),
  ...checkRuns(facts),
];

/** Turns of the epoch that lives. A deleted thread waits for its next epoch and has none. */
export const livingTurns = ({ row, turns }: ThreadFacts): readonly TurnFacts[] =>
  row.deleted === 1 ? [] : turns.filter(({ epoch }) => epoch === row.epoch);

/** P1: seq never restarts; P2: earliest unsettled seq - 1, else next_seq - 1. */
export function settledSeqOf(facts: ThreadFacts): number {
  const open = livingTurns(facts).find((turn) => !isSettled(turn));
  return (open?.seq ?? facts.row.next_seq) - 1;
}
export const nextSeqOf = ({ row, turns }: ThreadFacts): number =>
  turns.reduce((next, { seq }) => Math.max(next, seq + 1), row.next_seq);

function checkCounters(facts: ThreadFacts): Finding[] {
  const { row } = facts;
  const about = { thread: facts.thread, epoch: row.epoch };
  const found: Finding[] = [];
  const next = nextSeqOf(facts);
  if (row.next_seq !== next) {
    found.push(
      broken(
        'next_seq_low',
        about,
        `The next turn would get number ${row.next_seq}, and turn ${next - 1} exists.`,
        { repair: `continues at ${next}` },
      ),
    );
  }
  const settled = settledSeqOf({ ...facts, row: { ...row, next_seq: next } });
  if (row.settled_seq !== settled) {
    found.push(
      broken(
        'settled_seq_wrong',
        about,
        `The thread says that turns are settled through ${row.settled_seq}; they are through ${settled}.`,
        { repair: `sets it to ${settled}` },
      ),
    );
  }
  return found;
}

function checkVersions(facts: ThreadFacts): Finding[] {
  const { row } = facts;
  const about = { thread: facts.thread, epoch: row.epoch };
  const versions = livingTurns(facts).flatMap(({ version }) => (version === null ? [] : [version]));
  const gap = versions.findIndex((version, i) => version !== i + 1);
  if (gap !== -1) {
    const what = `Version ${gap + 1} is missing: the turns in order made ${listed(versions, gap)}.`;
    return [broken('versions_not_dense', about, what, onlyBackup)];
  }
  if (versions.length !== row.version) {
    const what = `The thread is at version ${row.version}, and its turns made ${versions.length}.`;
    return [broken('versions_not_dense', about, what, onlyBackup)];
  }
  return [];
}

const listed = (versions: readonly number[], around: number): string =>
  `${around > 1 ? '…, ' : ''}${versions.slice(Math.max(0, around - 1), around + 2).join(', ')}`;

/** The head is exactly what the turn of the highest version left. */
function checkHead(facts: ThreadFacts): Finding[] {
  const { row } = facts;
  const about = { thread: facts.thread, epoch: row.epoch };
  const head = [row.head_checkpoint, row.head_seq, row.head_status, row.interrupts];
  if (row.deleted === 1 && (row.version !== 0 || head.some((value) => value !== null))) {
    return [
      broken('tombstone_not_empty', about, 'The thread is deleted and still names a head.', {
        repair: 'clears it',
      }),
    ];
  }
  const turn = livingTurns(facts).find(({ version }) => version === row.version);
  if (turn === undefined) {
    if (row.version !== 0 || head.every((value) => value === null)) return [];
    const what = 'The thread names a head, and no turn has made one.';
    return [broken('head_wrong', about, what, onlyBackup)];
  }
  const wanted = [
    ...[turn.checkpoint_id, turn.seq, turn.status],
    turn.status === 'interrupted' ? turn.interrupts : null,
  ];
  const wrong = ['checkpoint', 'turn', 'status', 'interrupts'].filter(
    (_, i) => head[i] !== wanted[i],
  );
  if (wrong.length === 0) return [];
  return [
    broken(
      'head_wrong',
      { ...about, seq: turn.seq, turnId: turn.turn_id },
      `The thread's ${wrong.join(', ')} ${wrong.length === 1 ? 'is' : 'are'} not of turn ${turn.seq}, which made version ${row.version}.`,
      { repair: 'takes the head from that turn' },
    ),
  ];
}

/** P5: rows belong to a turn that runs or that left its result; drafts to one that runs; keys to any turn of the epoch. */
function checkBelongings(facts: ThreadFacts): Finding[] {
  const living = new Map(livingTurns(facts).map((turn) => [turn.seq, turn]));
  const { thread, row } = facts;
  const astray = facts.keys.filter(({ epoch, seq }) => epoch !== row.epoch || !living.has(seq));
  const keys = astray.map(({ epoch, seq }) =>
    broken(
      'key_astray',
      { thread, epoch, seq },
      `A key of epoch ${epoch} leads to turn ${seq}, which is not there.`,
      {
        repair: 'removes the key',
      },
    ),
  );
  const held = facts.held
    .filter((group) => group.epoch !== row.epoch || !mayHold(group, living.get(group.seq)))
    .map((group) => leftOver(facts, group, living.get(group.seq)));
  const twins = facts.twins.map(({ epoch, ns, pos }) =>
    broken(
      'position_twice',
      { thread, epoch },
      `Several checkpoints ${ns === '' ? '' : 'of a subgraph '}stand at position ${pos}.`,
      onlyBackup,
    ),
  );
  return [...keys, ...held, ...twins];
}

function mayHold({ table }: Held, turn: TurnFacts | undefined): boolean {
  if (turn === undefined || turn.status === 'pending') return false;
  if (turn.status === 'running') return true;
  return table !== 'et_drafts' && turn.version !== null;
}

function leftOver({ thread }: ThreadFacts, group: Held, turn: TurnFacts | undefined): Finding {
  const { table, epoch, seq, rows } = group;
  const what = `${table} holds ${rows} ${rows === 1 ? 'row' : 'rows'} of turn ${seq} of epoch ${epoch}, which is ${turn?.status ?? 'over or not there'}.`;
  const code = table === 'et_drafts' ? 'draft_left_over' : 'rows_left_over';
  return broken(code, { thread, epoch, seq }, what, { repair: 'erases them' });
}

/** P8: every run is known by the epochs that it served, or its history would outlive a delete. */
function checkRuns({ thread, row, runs }: ThreadFacts): Finding[] {
  const about = { thread, epoch: row.epoch };
  const others = runs.filter(({ epoch }) => epoch !== row.epoch);
  const found = others.map(({ epoch }) =>
    broken(
      'run_left_over',
      { thread, epoch },
      `A run of epoch ${epoch} is noted as if the epoch lived.`,
      { repair: 'hands its history to the sweeper, which erases it' },
    ),
  );
  const isKnown = runs.some(({ epoch, run_id }) => epoch === row.epoch && run_id === row.run_id);
  if (row.run_id === null || isKnown) return found;
  const what = "The thread's last workflow run is not among those that a delete would erase.";
  return [...found, broken('run_not_recorded', about, what, { repair: 'notes the run' })];
}
