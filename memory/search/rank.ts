/** Ranks a user's few hundred memories by BM25, and says nothing when nothing fits (M12). */
import MiniSearch from 'minisearch';
import { termsOf } from './terms.js';

/** Something that can be found. */
export interface Findable {
  readonly id: string;
  readonly text: string;
}

/** A hit. */
export interface Hit {
  readonly id: string;
  readonly score: number;
  /** Share of the query's terms that it holds, rare ones counting more. */
  readonly coverage: number;
}

/** A hit must hold this share of what was asked; less is a shared word, not an answer. */
const leastCoverage = 0.19;
/** Weaker hits than this share of the best one only dilute an answer. */
const keptShare = 0.35;
/** A longer query is a document: its beginning says what it is about. */
const queryChars = 1_000;

/** The best hits, none when nothing fits. */
export function rank(items: readonly Findable[], query: string, limit: number): readonly Hit[] {
  const asked = [...new Set(termsOf(query.slice(0, queryChars)))];
  if (asked.length === 0 || items.length === 0) return [];
  const index = new MiniSearch<Findable>({
    fields: ['text'],
    tokenize: termsOf,
    processTerm: (t) => t,
  });
  index.addAll(items);
  const weights = weightsOf(items, asked);
  const whole = [...weights.values()].reduce((a, b) => a + b, 0);
  const hits = index
    .search(query.slice(0, queryChars), { combineWith: 'OR' })
    .map((found) => {
      const held = found.queryTerms.reduce((sum, t) => sum + (weights.get(t) ?? 0), 0);
      return { id: String(found.id), score: found.score, coverage: held / whole };
    })
    .filter((hit) => hit.coverage >= leastCoverage);
  const best = hits[0]?.score ?? 0;
  return hits.filter((hit) => hit.score >= best * keptShare).slice(0, limit);
}

/** Rare terms weigh more. A term that none of `all` holds weighs most: it is what was asked and is not known. */
export const weightOf = (holding: number, all: number): number =>
  Math.log(1 + (all - holding + 0.5) / (holding + 0.5));

function weightsOf(
  items: readonly Findable[],
  asked: readonly string[],
): ReadonlyMap<string, number> {
  const holding = new Map<string, number>(asked.map((term) => [term, 0]));
  for (const { text } of items) {
    for (const term of new Set(termsOf(text))) {
      const n = holding.get(term);
      if (n !== undefined) holding.set(term, n + 1);
    }
  }
  return new Map([...holding].map(([term, n]) => [term, weightOf(n, items.length)]));
}
