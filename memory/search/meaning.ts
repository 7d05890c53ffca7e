/** Ranks by meaning: exact cosine over the vectors of one user and one model, and the fusion with ranking by words (M16). Pure. */

/** An item's vector. */
export interface Placed {
  readonly id: string;
  readonly vector: Float32Array;
}

/** The nearest items, best first; those below `least` mean nothing and are left out. */
export function nearest(
  items: readonly Placed[],
  asked: Float32Array,
  { least, limit }: { readonly least: number; readonly limit: number },
): readonly string[] {
  return items
    .map(({ id, vector }) => ({ id, similarity: cosine(vector, asked) }))
    .filter(({ similarity }) => similarity >= least)
    .sort((a, b) => b.similarity - a.similarity)
    .slice(0, limit)
    .map(({ id }) => id);
}

/** -1 to 1; 0 when one of them has no direction or their lengths differ. */
export function cosine(a: Float32Array, b: Float32Array): number {
  if (a.length !== b.length) return 0;
  let [dot, ofA, ofB] = [0, 0, 0];
  for (let i = 0; i < a.length; i += 1) {
    const x = a[i] ?? 0;
    const y = b[i] ?? 0;
    dot += x * y;
    ofA += x * x;
    ofB += y * y;
  }
  return ofA === 0 || ofB === 0 ? 0 : dot / (Math.sqrt(ofA) * Math.sqrt(ofB));
}

/** The constant of reciprocal rank fusion as its authors set it: the first few places of a list count nearly alike. */
const flattening = 60;

/** Reciprocal rank fusion: what stands high in several lists stands highest. Scores of different kinds are never compared. */
export function fused(lists: readonly (readonly string[])[], limit: number): readonly string[] {
  const scores = new Map<string, number>();
  for (const list of lists) {
    for (const [place, id] of list.entries())
      scores.set(id, (scores.get(id) ?? 0) + 1 / (flattening + place + 1));
  }
  return [...scores]
    .sort(([, a], [, b]) => b - a)
    .slice(0, limit)
    .map(([id]) => id);
}
