import { describe, expect, test } from '@jest/globals';
import { rank } from '../../memory/search/rank.js';
import { absent, near, pairs, type Language } from './recall-set.js';

const languages = ['en', 'ko', 'es', 'zh'] as const;
/** All languages are in one memory: what fits must win against everything else. */
const items = languages.flatMap((l) => pairs[l].map(([text], i) => ({ id: `${l}${i}`, text })));

const measured = (l: Language) => {
  const places = pairs[l].map(([, question], i) =>
    rank(items, question, 10).findIndex((h) => h.id === `${l}${i}`),
  );
  return {
    hit1: places.filter((p) => p === 0).length / places.length,
    hit5: places.filter((p) => p >= 0 && p < 5).length / places.length,
    abstains: absent[l].filter((q) => rank(items, q, 5).length === 0).length / absent[l].length,
    nearAbstains: near[l].filter((q) => rank(items, q, 5).length === 0).length / near[l].length,
    missed: pairs[l].flatMap(([, q], i) => (places[i]! < 0 ? [q] : [])),
    false: absent[l].flatMap((q) =>
      rank(items, q, 1).map((h) => `${q} -> ${h.id} ${h.coverage.toFixed(2)}`),
    ),
  };
};

describe('lexical recall', () => {
  test.each(languages)('M12 %s: hit@5, and silence when nothing fits', (l) => {
    const m = measured(l);
    process.stdout.write(
      `| ${l} | ${m.hit1.toFixed(2)} | ${m.hit5.toFixed(2)} | ${m.abstains.toFixed(2)} | ${m.nearAbstains.toFixed(2)} |\n`,
    );
    expect(m).toMatchObject({ missed: [], false: [] });
  });
});
