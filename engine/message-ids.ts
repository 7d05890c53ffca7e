/**
 * Gives ids to messages that nodes return without one. LangGraph does it only while somebody listens in `messages` mode;
 * done here for every run, the stored state does not depend on listeners, and a task that is run again gives the same ids.
 */
import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import { isMessageObject } from './transcript.js';

/** Channels of LangGraph's own that carry no output of a node. */
const notOutput = new Set(['__interrupt__', '__resume__', '__error__', '__pregel_tasks']);
const nullTask = '00000000-0000-0000-0000-000000000000';

/** `saver` belongs to one attempt. The objects it is handed are those that the reducers get next. */
export function stampMessageIds(saver: BaseCheckpointSaver): void {
  const putWrites = saver.putWrites.bind(saver);
  saver.putWrites = (config, writes, taskId, ...rest: [taskPath?: string]) => {
    if (taskId !== nullTask) stamp(writes, taskId);
    return putWrites(config, writes, taskId, ...rest);
  };
}

function stamp(writes: readonly (readonly [string, unknown])[], taskId: string): void {
  let index = 0;
  for (const [channel, value] of writes) {
    if (notOutput.has(channel)) continue;
    for (const item of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (!isMessageObject(item)) continue;
      index += 1;
      if (item.id !== undefined && item.id !== null && item.id !== '') continue;
      item.id = `${taskId}-${index}`;
      // What a message serialises is lc_kwargs.
      if (item.lc_kwargs !== undefined) item.lc_kwargs.id = item.id;
    }
  }
}
