/** Long-term memory over a driver (M15): each method is one transaction. */
import type { Episode } from '../../memory/episodes/episode.js';
import { isActive } from '../../memory/facts/fact.js';
import type { FactVectors, MemoryOwner, MemoryStore } from '../../memory/store.js';
import { query, type Driver, type Tx } from '../tx.js';
import { readFacts } from './fact-rows.js';
import { eraseOwner } from './erase.js';
import { keyOf, ofOwner } from './owner-row.js';
import { readVectors, writeVectors } from './vector-rows.js';

/** What writes facts knows the gate and the mask: a quarter of a second to load, which no start should wait for. */
export const memoryOn = (driver: Driver): MemoryStore & FactVectors => ({
  remember: async (owner, batch) => {
    const { remember } = await import('./remember.js');
    return driver.write(() => remember(owner, batch));
  },
  facts: async (owner, { now, history = false }) => {
    const facts = await driver.read(() => readFacts(owner, history ? 'all' : 'standing'));
    return history ? facts : facts.filter((fact) => isActive(fact, now));
  },
  episodes: (owner, { now }) => driver.read(() => readEpisodes(owner, now)),
  withdraw: async (owner, factId, now) => {
    const { withdrawFact } = await import('./withdraw.js');
    return driver.write(() => withdrawFact(owner, factId, now));
  },
  erase: async (owner) => {
    const erased = await driver.write(() => eraseOwner(owner));
    await driver.emptyLog?.();
    return erased;
  },
  vectors: (owner, model) => driver.read(() => readVectors(owner, model)),
  putVectors: (owner, model, vectors) => driver.write(() => writeVectors(owner, model, vectors)),
});

function* readEpisodes(owner: MemoryOwner, now: string): Tx<readonly Episode[]> {
  const rows = yield* query<{ body: string }>(
    `SELECT body FROM et_episodes WHERE ${ofOwner} AND expires_at > $3 ORDER BY pos DESC, episode_id`,
    ...keyOf(owner),
    now,
  );
  return rows.map(({ body }) => JSON.parse(body) as Episode);
}
