/** Long-term memory for graphs that are loaded while its database is still being opened. */
import type { MemoryStore } from '../memory/store.js';

export const laterMemory = (opening: Promise<MemoryStore>): MemoryStore => ({
  remember: async (owner, batch) => (await opening).remember(owner, batch),
  facts: async (owner, options) => (await opening).facts(owner, options),
  episodes: async (owner, options) => (await opening).episodes(owner, options),
  withdraw: async (owner, factId, now) => (await opening).withdraw(owner, factId, now),
  erase: async (owner) => (await opening).erase(owner),
});
