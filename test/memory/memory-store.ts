/** Long-term memory in this process, for tests: the port's rules without a database. */
import type { Episode } from '../../memory/episodes/episode.js';
import { isActive, type Fact } from '../../memory/facts/fact.js';
import { applied, record, withdraw } from '../../memory/facts/record.js';
import type { MemoryOwner, MemoryStore, Written } from '../../memory/store.js';

interface Shelf {
  facts: readonly Fact[];
  episodes: Episode[];
  keys: Map<string, Written>;
}

export function memoryStore(): MemoryStore {
  const shelves = new Map<string, Shelf>();
  let ids = 0;
  const shelfOf = ({ tenant, userId }: MemoryOwner): Shelf => {
    const name = JSON.stringify([tenant, userId]);
    const shelf = shelves.get(name) ?? { facts: [], episodes: [], keys: new Map() };
    shelves.set(name, shelf);
    return shelf;
  };
  return {
    async remember(owner, { key, accepted, episodes, threadId, now }) {
      const shelf = shelfOf(owner);
      const before = shelf.keys.get(key);
      if (before !== undefined) return before;
      let [added, superseded] = [0, 0];
      for (const verdict of accepted) {
        const changes = record(shelf.facts, verdict, { id: `f${(ids += 1)}`, now, threadId });
        added += changes.filter((c) => c.kind === 'add').length;
        superseded += changes.filter((c) => c.kind === 'end').length;
        shelf.facts = applied(shelf.facts, changes);
      }
      shelf.episodes.unshift(...episodes);
      const written = { added, superseded, episodes: episodes.length };
      shelf.keys.set(key, written);
      return written;
    },
    async facts(owner, { now, history = false }) {
      return shelfOf(owner).facts.filter((f) => history || isActive(f, now));
    },
    async episodes(owner, { now }) {
      return shelfOf(owner).episodes.filter((e) => e.expiresAt > now);
    },
    async withdraw(owner, factId, now) {
      const shelf = shelfOf(owner);
      const fact = shelf.facts.find((f) => f.id === factId && f.retiredAt === null);
      if (fact === undefined) return false;
      shelf.facts = applied(shelf.facts, [withdraw(fact, now)]);
      return true;
    },
    async erase(owner) {
      const { facts, episodes, keys } = shelfOf(owner);
      shelves.delete(JSON.stringify([owner.tenant, owner.userId]));
      return { facts: facts.length, episodes: episodes.length, keys: keys.size };
    },
  };
}
