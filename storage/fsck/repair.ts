/**
 * Mends what follows from what is left, under the thread lock (P4): counters, fences, leftovers. Never makes data up: what is
 * missing stays missing and is said. One transaction per thread, so a live store stays right.
 */
import type { ThreadKey } from '../../contracts/protocol.js';
import { emptyTurn } from '../delete.js';
import { handOverRuns } from '../erasure.js';
import { run, type Tx } from '../tx.js';
import { checkFacts, livingTurns, nextSeqOf, settledSeqOf } from './check-thread.js';
import { readFacts, type ThreadFacts } from './facts.js';
import type { Finding } from './finding.js';

/** Repairs one thread and gives what was found under the lock. */
export function* repairThread(thread: ThreadKey): Tx<readonly Finding[]> {
  const facts = yield* readFacts(thread, 'lock');
  if (facts === undefined) return [];
  const findings = checkFacts(facts);
  for (const finding of findings) {
    if (finding.repair !== null) yield* mend(facts, finding);
  }
  return findings;
}

function* mend(facts: ThreadFacts, finding: Finding): Tx<void> {
  const at = [facts.thread.tenant, facts.thread.threadId] as const;
  const place = [...at, finding.epoch, finding.seq] as const;
  switch (finding.code) {
    case 'next_seq_low':
    case 'settled_seq_wrong':
      yield* setCounters(facts);
      return;
    case 'tombstone_not_empty':
      yield* run(
        `UPDATE et_threads SET version = 0, head_checkpoint = NULL, head_seq = NULL, head_status = NULL,
           interrupts = NULL, next_nodes = NULL WHERE ${ofThread}`,
        ...at,
      );
      return;
    case 'head_wrong':
      yield* takeHead(facts);
      return;
    case 'run_not_recorded':
      // The run notes itself again at its next claim.
      yield* run(`UPDATE et_threads SET run_id = NULL WHERE ${ofThread}`, ...at);
      return;
    case 'dead_turn_open':
    case 'dead_turn_content':
      yield* run(
        `UPDATE et_turns SET ${emptyTurn} WHERE ${ofThread} AND epoch = $3 AND seq = $4`,
        ...place,
      );
      return;
    case 'key_astray':
      yield* run(`DELETE FROM et_keys WHERE ${ofThread} AND epoch = $3 AND seq = $4`, ...place);
      return;
    case 'rows_left_over':
      for (const table of ['et_checkpoints', 'et_deltas', 'et_writes']) {
        yield* run(`DELETE FROM ${table} WHERE ${ofThread} AND epoch = $3 AND seq = $4`, ...place);
      }
      return;
    case 'draft_left_over':
      yield* run(`DELETE FROM et_drafts WHERE ${ofThread} AND epoch = $3 AND seq = $4`, ...place);
      return;
    case 'run_left_over':
      yield* handOverRuns(facts.thread, facts.row.epoch);
      return;
    case 'memory_without_owner':
    case 'versions_not_dense':
    case 'turn_status_torn':
    case 'turn_incomplete':
    case 'turn_of_unborn_epoch':
    case 'position_twice':
    case 'state_broken':
    case 'rows_without_thread':
    case 'file_damaged':
    case 'turn_quiet':
    case 'turn_not_running':
      return; // not a matter of this thread's rows
  }
}

const ofThread = 'tenant = $1 AND thread_id = $2';

function* setCounters(facts: ThreadFacts): Tx<void> {
  const next = nextSeqOf(facts);
  const settled = settledSeqOf({ ...facts, row: { ...facts.row, next_seq: next } });
  yield* run(
    `UPDATE et_threads SET next_seq = $3, settled_seq = $4, updated_at_ms = {now} WHERE ${ofThread}`,
    ...[facts.thread.tenant, facts.thread.threadId, next, settled],
  );
}

/** The turn of the highest version says what the head is. */
function* takeHead(facts: ThreadFacts): Tx<void> {
  const turn = livingTurns(facts).find(({ version }) => version === facts.row.version);
  if (turn === undefined) return;
  yield* run(
    `UPDATE et_threads SET head_checkpoint = $3, head_seq = $4, head_status = $5, interrupts = $6
     WHERE ${ofThread}`,
    ...[facts.thread.tenant, facts.thread.threadId, turn.checkpoint_id, turn.seq, turn.status],
    turn.status === 'interrupted' ? turn.interrupts : null,
  );
}
