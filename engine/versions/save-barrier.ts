/**
 * Before 0.4 LangGraph saves a superstep while the next one already runs. A callback that is awaited before each node
 * holds it until what was put is flushed, as `durability: 'sync'` does later (P5).
 */
import { setMaxListeners } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';

/**
 * @param saver of one attempt
 * @param ended the run's own signal
 * @returns a callback handler for the call
 */
export function saveBarrier(saver: BaseCheckpointSaver, ended: AbortSignal): object {
  // 0.2 leaves a listener behind at each superstep, and Node takes many for a leak.
  setMaxListeners(0, ended);
  let saving: Promise<unknown> = Promise.resolve();
  const put = saver.put.bind(saver);
  const putWrites = saver.putWrites.bind(saver);
  saver.put = (...args) => {
    const saved = unlessEnded(put(...args), args[0], ended);
    saving = Promise.allSettled([saving, saved]);
    return saved;
  };
  saver.putWrites = (...args) => unlessEnded(putWrites(...args), undefined, ended);
  return {
    name: 'save_barrier',
    awaitHandlers: true,
    async handleChainStart() {
      // The put of the superstep before may be queued and not yet called.
      await setImmediate();
      await saving;
    },
  };
}

/** LangGraph looks at what it saves at its end only: of a run that is over nobody would take the refusal. */
const unlessEnded = <T>(saved: Promise<T>, otherwise: T, ended: AbortSignal): Promise<T> =>
  saved.catch((error: unknown) => {
    if (ended.aborted) return otherwise;
    throw error;
  });
