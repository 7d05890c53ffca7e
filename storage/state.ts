/** The committed state of a thread: the row says which, the saver's rows say what. */
import type { ThreadKey } from '../contracts/protocol.js';
import type { ChannelView, StateView } from './port.js';
import { readChannel } from './saver/rows.js';
import { readState, valuesOf } from './saver/state-view.js';
import { liveThread } from './threads.js';
import type { Driver } from './tx.js';

export async function stateOf(driver: Driver, key: ThreadKey): Promise<StateView | undefined> {
  const thread = await driver.read(() => liveThread(key));
  if (thread === undefined) return undefined;
  const { head_checkpoint: checkpointId, head_seq: seq } = thread;
  const base = { version: thread.version, epoch: thread.epoch, checkpointId };
  if (checkpointId === null || seq === null) {
    return { ...base, values: {}, next: [], interrupts: [] };
  }
  const { values } = await readState(
    driver,
    { ...key, epoch: thread.epoch },
    { checkpointId, seq },
  );
  return {
    ...base,
    values,
    next: JSON.parse(thread.next_nodes ?? '[]') as string[],
    interrupts: JSON.parse(thread.interrupts ?? '[]') as StateView['interrupts'],
  };
}

/** Row and channel on one snapshot of the database. */
export const channelOf = (
  driver: Driver,
  key: ThreadKey,
  name: string,
): Promise<ChannelView | undefined> =>
  driver.read(function* () {
    const thread = yield* liveThread(key);
    if (thread === undefined) return undefined;
    const { graph, version, epoch, head_checkpoint: checkpointId, head_seq: headSeq } = thread;
    const none = { graph, version, epoch, value: undefined };
    if (checkpointId === null || headSeq === null) return none;
    const view = { thread: key, epoch, headSeq, ownSeq: -1 };
    const stored = yield* readChannel(view, checkpointId, name);
    return stored === undefined ? none : { ...none, value: valuesOf(stored)[name] };
  });
