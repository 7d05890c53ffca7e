/** Numbers that a seed decides. A name splits a stream of its own off, so that one client's pace changes no other's choices. */
export interface Random {
  /** In [0, 1). */
  next(): number;
  /** A whole number in [from, to). */
  between(from: number, to: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
  /** One of the names, as often as its weight says. */
  weighted<K extends string>(weights: Readonly<Partial<Record<K, number>>>): K;
  split(name: string): Random;
}

export function random(seed: string): Random {
  let state = hash(seed);
  // mulberry32: small, and good enough to choose faults.
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (from: number, to: number): number => from + Math.floor(next() * (to - from));
  return {
    next,
    between,
    chance: (probability) => next() < probability,
    pick: <T>(list: readonly T[]): T => {
      const found = list[between(0, list.length)];
      if (found === undefined) throw new Error('nothing to pick from');
      return found;
    },
    weighted<K extends string>(weights: Readonly<Partial<Record<K, number>>>): K {
      const entries = Object.entries(weights) as [K, number][];
      let left = next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
      for (const [name, weight] of entries) if ((left -= weight) < 0) return name;
      const last = entries.at(-1);
      if (last === undefined) throw new Error('nothing to pick from');
      return last[0];
    },
    split: (name) => random(`${seed}/${name}`),
  };
}

/** FNV-1a. */
function hash(text: string): number {
  let h = 0x811c9dc5;
  for (const char of text) h = Math.imul(h ^ (char.codePointAt(0) ?? 0), 0x01000193);
  return h >>> 0;
}
