/**
 * Named places at which a test ends the process for good (docs/CRASHES.md). The product holds the names alone: whatever
 * arms them is a preload of the tests, so a build that is shipped cannot be armed by its environment.
 */

/** In the order in which a turn meets them. */
export type CrashPoint =
  // gateway
  | 'before-accept'
  | 'in-accept' // every statement is made, COMMIT is not sent
  | 'after-accept'
  | 'after-signal' // the sweeper's signals too
  | 'before-reply' // the settled row is read, nothing of it is sent
  | 'in-cancel'
  | 'after-cancel'
  | 'in-delete' // half of the tables are erased
  | 'after-delete' // committed, the run is not told
  // worker
  | 'before-claim'
  | 'in-claim'
  | 'after-claim'
  | 'before-model'
  | 'mid-stream' // a token was given to the relay
  | 'after-model' // the answer is here and nothing of it is written
  | 'before-remember' // the answer is flushed, long-term memory is not written
  | 'after-remember' // it is, and the node is not done
  | 'before-flush'
  | 'in-flush'
  | 'after-flush'
  | 'before-commit' // every statement of the settling transaction is made, COMMIT is not sent
  | 'after-commit' // nobody knows yet: neither a gateway nor Temporal
  | 'before-ack' // the gateways know, Temporal does not
  | 'after-yield'
  | 'after-sweep' // threads are taken by this sweeper and not yet signalled
  // migrate
  | 'in-migration'; // after each statement

type Reaction = (point: CrashPoint, threadId: string | undefined) => void;
let react: Reaction | undefined;

/** Costs a load and a branch while nothing is armed: no look at the environment, no allocation, no promise. */
export function reachCrashPoint(point: CrashPoint, threadId?: string): void {
  react?.(point, threadId);
}

/**
 * For tests alone, which load the built file: `undefined` disarms.
 * @public
 */
export function armCrashPoints(reaction: Reaction | undefined): void {
  react = reaction;
}
