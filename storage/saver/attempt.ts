/** Opens the saver of one attempt (P5). */
import type { Driver } from '../tx.js';
import { AttemptRun } from './attempt-run.js';
import { Checkpoints } from './checkpoints.js';
import { headsOf } from './head-cache.js';
import { knownOf } from './load.js';
import type { Attempt, AttemptOptions } from './port.js';
import { readCheckpoint, readLastPos, type View } from './rows.js';
import { makeSaver } from './saver-class.js';

/** Reads nothing when the thread is new, or when this process has committed its head. */
export async function openAttempt(driver: Driver, options: AttemptOptions): Promise<Attempt> {
  const { turn, checkpoint: module } = options;
  const { thread, epoch, seq } = turn.claim;
  const view: View = { thread, epoch, headSeq: turn.head?.seq ?? -1, ownSeq: seq };
  const saver = makeSaver(module, () => run);
  const writer = { serde: saver.serde, verify: options.verify ?? false };
  const cached = headsOf(driver).take(thread);
  const warm =
    !turn.hasRows &&
    cached?.epoch === epoch &&
    cached.known.id === turn.head?.checkpointId &&
    cached.seq === turn.head.seq &&
    cached.module === module.BaseCheckpointSaver;
  const isNew = turn.head === null && !turn.hasRows;
  const lastPos = warm ? cached.lastPos : isNew ? 0 : undefined;
  const read =
    lastPos === undefined
      ? await driver.read(function* () {
          return { last: yield* readLastPos(view), root: yield* readCheckpoint(view, '', null) };
        })
      : undefined;
  const stored = read?.root === undefined ? null : await knownOf(writer, read.root);
  const root = warm ? cached.known : stored;
  const checkpoints = new Checkpoints(driver, writer, view, lastPos ?? read?.last ?? 0);
  checkpoints.learn('', root);
  const run = new AttemptRun({ driver, options, saver, checkpoints, root });
  return run;
}
