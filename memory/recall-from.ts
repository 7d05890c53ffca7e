/** Recall from a store: by words, and by meaning where a model for it is given (M12, M16). */
import { isActive, type Fact } from './facts/fact.js';
import { recall, type Recalled } from './recall.js';
import { nearest } from './search/meaning.js';
import type { Embedder } from './search/embedder.js';
import type { FactVectors, MemoryOwner, MemoryStore } from './store.js';

/** What is asked, by whom, when. */
export interface RecallAsk {
  readonly owner: MemoryOwner;
  readonly query: string;
  /** ISO time; pure code has no clock. */
  readonly now: string;
  /** From `tryEmbeddings`; without it words alone decide. */
  readonly embedder?: Embedder;
}

/** What fits, and whether meaning was looked at; `failed` when the model did not answer, and words decided. */
export interface RecalledFrom extends Recalled {
  readonly meaning: 'off' | 'used' | 'failed';
}

/** Facts that get a vector within one recall: the rest of a long memory gets theirs in the next ones. */
const mostEmbeddedAtOnce = 200;
/** As many as ranking by words gives. */
const mostSimilar = 8;
/** A longer question is a document: its beginning says what it is about. */
const queryChars = 1_000;

/** Reads what is known and chooses what fits. A model that fails costs nothing but its own part. */
export async function recallFrom(
  store: MemoryStore & FactVectors,
  { owner, query, now, embedder }: RecallAsk,
): Promise<RecalledFrom> {
  const [facts, episodes] = await Promise.all([
    store.facts(owner, { now }),
    store.episodes(owner, { now }),
  ]);
  const known = { facts, episodes };
  if (embedder === undefined || query.trim() === '')
    return { ...recall(known, query, now), meaning: 'off' };
  const active = facts.filter((fact) => isActive(fact, now));
  const similar = await similarFacts(store, { owner, embedder }, active, query).catch(
    () => undefined,
  );
  return {
    ...recall(known, query, now, similar),
    meaning: similar === undefined ? 'failed' : 'used',
  };
}

/** Ids of the facts nearest to the question. Facts without a vector of this model get one. */
async function similarFacts(
  store: FactVectors,
  { owner, embedder }: { readonly owner: MemoryOwner; readonly embedder: Embedder },
  facts: readonly Fact[],
  query: string,
): Promise<readonly string[]> {
  if (facts.length === 0) return [];
  const vectors = new Map(await store.vectors(owner, embedder.name));
  const missing = facts.filter(({ id }) => !vectors.has(id)).slice(-mostEmbeddedAtOnce);
  if (missing.length > 0) {
    const made = await embedder.facts(missing.map(({ text }) => text));
    const fresh = new Map(
      missing.flatMap(({ id }, i): [string, Float32Array][] => {
        const vector = made[i];
        return vector === undefined ? [] : [[id, vector]];
      }),
    );
    await store.putVectors(owner, embedder.name, fresh);
    for (const [id, vector] of fresh) vectors.set(id, vector);
  }
  const placed = facts.flatMap(({ id }) => {
    const vector = vectors.get(id);
    return vector === undefined ? [] : [{ id, vector }];
  });
  const asked = await embedder.question(query.slice(0, queryChars));
  return nearest(placed, asked, { least: embedder.least, limit: mostSimilar });
}
