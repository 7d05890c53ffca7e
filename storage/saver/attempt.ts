/** Opens the saver of one attempt (P5). */
import type { ClaimedTurn } from '../port.js';
import type { Driver } from '../tx.js';
import { AttemptRun } from './attempt-run.js';
import { Checkpoints } from './checkpoints.js';
import { type HeadCache, headsOf } from './head-cache.js';
import { knownOf } from './load.js';
import type { Attempt, AttemptOptions } from './port.js';
import { type AttemptReads, readsOn } from './reads.js';
import { makeSaver } from './saver-class.js';

/**
 * Channel versions that a turn makes begin here times its seq. A row is named by channel and version, so no turn writes over
 * a row of another: not over those that a fork left behind, whatever the fork itself wrote. A superstep makes one version;
 * no turn makes a million.
 */
const versionsOfTurn = 2 ** 20;

/** Where an attempt reads, and the heads that are still at hand there. */
export interface AttemptSource {
  readonly reads: AttemptReads;
  readonly heads: HeadCache;
}

export const openAttempt = (driver: Driver, options: AttemptOptions): Promise<Attempt> =>
  openAttemptFrom({ reads: attemptReads(driver, options.turn), heads: headsOf(driver) }, options);

/** What the turn's attempt may see: committed turns up to its head, and its own rows. */
export const attemptReads = (driver: Driver, { claim, head }: ClaimedTurn): AttemptReads =>
  readsOn(driver, {
    thread: claim.thread,
    epoch: claim.epoch,
    headSeq: head?.seq ?? -1,
    ownSeq: claim.seq,
  });

/** Reads nothing when the thread is new, or when its committed head is at hand. */
export async function openAttemptFrom(
  { reads, heads }: AttemptSource,
  options: AttemptOptions,
): Promise<Attempt> {
  const { turn, checkpoint: module } = options;
  const { thread, epoch } = turn.claim;
  const saver = makeSaver(module, () => run, turn.claim.seq * versionsOfTurn);
  const writer = { serde: saver.serde, verify: options.verify ?? false };
  const cached = heads.take(thread);
  const warm =
    !turn.hasRows &&
    cached?.epoch === epoch &&
    cached.known.id === turn.head?.checkpointId &&
    cached.seq === turn.head.seq &&
    cached.module === module.BaseCheckpointSaver;
  const isNew = turn.head === null && !turn.hasRows;
  const lastPos = warm ? cached.lastPos : isNew ? 0 : undefined;
  const read = lastPos === undefined ? await reads.opening() : undefined;
  const stored = read?.root === undefined ? null : await knownOf(writer, read.root);
  const root = warm ? cached.known : stored;
  const { threadId } = thread;
  const from = { reads, writer, threadId, lastPos: lastPos ?? read?.lastPos ?? 0 };
  const checkpoints = new Checkpoints(from);
  checkpoints.learn('', root);
  const writtenBy = read?.root?.body.writer ?? null;
  const run = new AttemptRun({ heads, options, saver, checkpoints, root, writtenBy });
  return run;
}
