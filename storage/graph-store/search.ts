/** Searches below a prefix. Filters and ranking read every item there: exact, and meant for thousands, not millions. */
import { cosine } from '../../memory/search/meaning.js';
import { floatsOf } from '../memory/vector-rows.js';
import { query, type Tx } from '../tx.js';
import { matches } from './filter.js';
import { readItems } from './item-rows.js';
import { rangeOf } from './namespace.js';
import type { StoredItem, StoreOp, StoreVector } from './port.js';

type Ask = Extract<StoreOp, { kind: 'search' }>;

export function* searchItems(tenant: string, ask: Ask): Tx<readonly StoredItem[]> {
  const { prefix, filter, limit, offset, near } = ask;
  if (filter === null && near === null) return yield* readItems(tenant, prefix, { limit, offset });
  const all = yield* readItems(tenant, prefix);
  const found =
    filter === null ? all : all.filter((item) => matches(JSON.parse(item.valueJson), filter));
  if (near === null) return found.slice(offset, offset + limit);
  return ranked(found, yield* likenesses(tenant, prefix, near), { limit, offset });
}

/** By item, how like its best field is. */
type Likenesses = ReadonlyMap<string, number>;

const idOf = (ns: string, key: string): string => `${ns}\u0000${key}`;

function* likenesses(tenant: string, prefix: string, near: StoreVector): Tx<Likenesses> {
  const range = rangeOf(prefix);
  const rows = yield* query<{ ns: string; item_key: string; vector: Uint8Array }>(
    `SELECT ns, item_key, vector FROM et_store_vectors
     WHERE tenant = $1 AND model = $2 ${range === undefined ? '' : 'AND ns >= $3 AND ns < $4'}`,
    ...[tenant, near.model, ...(range ?? [])],
  );
  const best = new Map<string, number>();
  for (const { ns, item_key, vector } of rows) {
    const id = idOf(ns, item_key);
    const likeness = cosine(floatsOf(vector), near.vector);
    best.set(id, Math.max(best.get(id) ?? -Infinity, likeness));
  }
  return best;
}

/** The likest first; items without a vector fill what is left of the page, as in LangGraph's own store. */
function ranked(
  items: readonly StoredItem[],
  likeness: Likenesses,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): readonly StoredItem[] {
  const scored = items.flatMap((item) => {
    const score = likeness.get(idOf(item.ns, item.key));
    return score === undefined ? [] : [{ ...item, score }];
  });
  const page = scored.sort((a, b) => b.score - a.score).slice(offset, offset + limit);
  const others = items.filter((item) => !likeness.has(idOf(item.ns, item.key)));
  return [...page, ...others.slice(0, limit - page.length)];
}
