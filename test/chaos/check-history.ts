/** The history checker: the invariants of DESIGN 6 over the log of a chaos run and the store that it left. Pure. */
import { checkAnswers } from './check-answers.js';
import { checkDeleted } from './check-deleted.js';
import { checkModelCalls } from './check-model.js';
import { checkReads } from './check-reads.js';
import { checkStore } from './check-store.js';
import { checkStreams } from './check-streams.js';
import type { History, Violation } from './history.js';
import { indexed, type Indexed, type Moment } from './indexed.js';

const checks: readonly ((history: Indexed) => Iterable<Violation>)[] = [
  checkStore,
  checkAnswers,
  checkReads,
  checkDeleted,
  checkModelCalls,
  checkStreams,
];

export function checkHistory(history: History, moment: Moment = 'end'): Violation[] {
  const known = indexed(history, moment);
  return checks.flatMap((check) => [...check(known)]);
}
