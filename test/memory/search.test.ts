import { describe, expect, test } from '@jest/globals';
import { rank } from '../../memory/search/rank.js';
import { recall } from '../../memory/recall.js';
import { applied, record } from '../../memory/facts/record.js';
import type { Fact } from '../../memory/facts/fact.js';
import { termsOf } from '../../memory/search/terms.js';
import { absent, changes, near, pairs, type Language } from './recall-set.js';

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
    expect(m.hit5).toBeGreaterThanOrEqual(0.9);
    expect(m.false).toEqual([]);
    expect(m.nearAbstains).toBeGreaterThanOrEqual(0.5);
  });

  const now = '2026-06-01T00:00:00.000Z';
  const told = (texts: readonly (readonly [predicate: string, text: string])[]) =>
    texts.reduce<readonly Fact[]>((facts, [predicate, text], i) => {
      const evidence = { messageId: 'm', quote: text };
      const candidate = {
        subject: 'user',
        predicate,
        value: text,
        text,
        single: true,
        evidence,
        confidence: 1,
      };
      const by = {
        id: `f${i}`,
        now: new Date(Date.UTC(2026, 0, i + 1)).toISOString(),
        threadId: 't',
      };
      return applied(
        facts,
        record(facts, { kind: 'accepted', standing: 'verified', source: 'tool', candidate }, by),
      );
    }, []);

  test.each(languages)(
    'M12 %s: of a fact that changed the newest is recalled, the superseded one never',
    (l) => {
      const facts = told([
        ...pairs[l].map(([text], i) => [`p${i}`, text] as const),
        ...changes[l].flatMap(
          ([was, is], i) =>
            [
              [`c${i}`, was],
              [`c${i}`, is],
            ] as const,
        ),
      ]);
      for (const [was, is, question] of changes[l]) {
        const { facts: found, text } = recall({ facts, episodes: [] }, question, now);
        expect(found[0]?.text).toBe(is);
        expect(text).not.toContain(was);
        expect(text).toContain(`Verified (user`);
      }
    },
  );

  test('M12 how a user wants to be answered fits every question; a claim is called one; nothing gives no block', () => {
    const [fact] = told([['prefers: answers', 'I prefer short answers']]);
    const claim: Fact = {
      ...fact!,
      id: 'c',
      predicate: 'home',
      standing: 'claimed',
      text: 'I live in Seoul',
      expiresAt: '2026-07-01T00:00:00.000Z',
    };
    const known = { facts: [{ ...fact!, standing: 'preference' as const }, claim], episodes: [] };
    expect(recall(known, 'Does Dana live in Seoul?', now).text).toBe(
      'The user says about himself: "I prefer short answers"\nThe user claims, not verified: "I live in Seoul"',
    );
    expect(
      recall(known, 'Does Dana live in Seoul?', '2026-08-01T00:00:00.000Z').facts,
    ).toHaveLength(1);
    expect(recall({ facts: [], episodes: [] }, 'anything', now).text).toBe('');
  });

  test('M12 terms: accents and plurals fold, Korean and Chinese are pairs', () => {
    expect(termsOf('Las direcciones de envío')).toEqual(termsOf('direcciones envio'));
    expect(termsOf('배송 주소')).toEqual(['배송', '주소']);
    expect(termsOf('送货地址')).toEqual(['送货', '货地', '地址']);
  });
});
