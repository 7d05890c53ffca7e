/** Recall by meaning: a model is tried first, vectors are made once per fact and model, and words decide when it fails. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Embeddings } from '@langchain/core/embeddings';
import { randomUUID } from 'node:crypto';
import type { Verdict } from '../../memory/facts/gate.js';
import { recallFrom, type RecallAsk } from '../../memory/recall-from.js';
import { tryEmbeddings, type Embedder } from '../../memory/search/embedder.js';
import { fused, nearest } from '../../memory/search/meaning.js';
import { openDatabase, type TestDatabase } from '../support/database.js';
import { NgramEmbeddings } from '../support/ngram-embeddings.js';
import { absent, pairs } from './recall-set.js';

const languages = ['en', 'ko', 'es', 'zh'] as const;
const now = '2026-01-02T00:00:00.000Z';

const fact = (text: string): Extract<Verdict, { kind: 'accepted' }> => ({
  ...{ kind: 'accepted', standing: 'verified', source: 'tool' },
  candidate: {
    ...{ subject: 'user', predicate: 'knows', value: text, text, single: false, confidence: 1 },
    evidence: { messageId: 'm', quote: text },
  },
});

/** Directions without any meaning. */
class Noise extends NgramEmbeddings {
  override embedQuery(text: string): Promise<number[]> {
    return super.embedQuery(`${randomUUID()} ${text.length}`);
  }
}
/** Knows one script, like many small models. */
class LatinOnly extends NgramEmbeddings {
  override embedDocuments(texts: string[]): Promise<number[][]> {
    return super.embedDocuments(texts.map((t) => t.replace(/[^\p{Script=Latin} ]/gu, '')));
  }
}
class Changing extends NgramEmbeddings {
  changed = false;
  override async embedQuery(text: string): Promise<number[]> {
    return (await super.embedQuery(text)).slice(0, this.changed ? 64 : undefined);
  }
}
class Down extends Embeddings {
  constructor() {
    super({});
  }
  embedDocuments = (): Promise<number[][]> => Promise.reject(new Error('no answer'));
  embedQuery = (): Promise<number[]> => Promise.reject(new Error('no answer'));
}

const usable = async (embeddings: NgramEmbeddings, name = 'ngrams'): Promise<Embedder> => {
  const tried = await tryEmbeddings(embeddings, name);
  if (tried.kind === 'unusable') throw new Error(tried.reason);
  return tried.embedder;
};

describe('recall by meaning', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await openDatabase('sqlite');
  });
  afterAll(() => database.close());

  const user = async (texts: readonly string[]) => {
    const owner = { tenant: 'default', userId: randomUUID() };
    await database.storage.memory.remember(owner, {
      ...{ key: 'k', threadId: 't', episodes: [], refused: {}, now: '2026-01-01T00:00:00.000Z' },
      accepted: texts.map(fact),
    });
    return {
      owner,
      ask: async (query: string, more: Partial<RecallAsk> = {}) => {
        const found = await recallFrom(database.storage.memory, { owner, query, now, ...more });
        return { meaning: found.meaning, texts: found.facts.map((f) => f.text) };
      },
    };
  };

  test('M16 a model that finds the facts of the trial is used, with a threshold of its own; others are not', async () => {
    const good = await tryEmbeddings(new NgramEmbeddings(), 'ngrams');
    expect(good.kind).toBe('usable');
    expect(good.kind === 'usable' && good.embedder.name).toBe('ngrams/256');
    expect(await tryEmbeddings(new Noise(), 'noise')).toMatchObject({
      kind: 'unusable',
      reason: expect.stringContaining('noise finds') as unknown,
    });
    const latin = await tryEmbeddings(new LatinOnly(), 'latin');
    expect(latin).toMatchObject({
      kind: 'unusable',
      found: { ko: { right: 0 }, zh: { right: 0 } },
    });
    await expect(tryEmbeddings(new Down(), 'down')).rejects.toThrow('no answer');
  });

  test('M16 finds what shares no word with the question, makes each vector once, and again for another model', async () => {
    const { ask } = await user(['The user is allergic to peanuts', 'Backups run every night']);
    const asked = 'alergies? peanutty';
    expect(await ask(asked)).toEqual({ meaning: 'off', texts: [] });
    const ngrams = new NgramEmbeddings();
    const embedder = await usable(ngrams);
    ngrams.embedded = 0;
    for (let times = 0; times < 3; times += 1)
      expect(await ask(asked, { embedder: { ...embedder, least: 0.3 } })).toEqual({
        meaning: 'used',
        texts: ['The user is allergic to peanuts'],
      });
    expect(ngrams.embedded).toBe(2);
    const other = new NgramEmbeddings(512);
    const changed = await usable(other);
    other.embedded = 0;
    await ask(asked, { embedder: changed });
    await ask(asked, { embedder: changed });
    expect(other.embedded).toBe(2);
  });

  test('M16 a model that fails, or changes its dimensions, leaves recall to words', async () => {
    const { ask } = await user(['The user is allergic to peanuts']);
    const embedder = await usable(new NgramEmbeddings());
    const down = { ...embedder, question: () => Promise.reject(new Error('no answer')) };
    const expected = { meaning: 'failed', texts: ['The user is allergic to peanuts'] };
    expect(await ask('which allergic peanuts', { embedder: down })).toEqual(expected);
    const changing = new Changing();
    const { question } = await usable(changing);
    changing.changed = true;
    await expect(question('x')).rejects.toThrow('64 dimensions instead of 256');
  });

  test('M16 hybrid recall on the set in four languages is not worse than words', async () => {
    const texts = languages.flatMap((l) => pairs[l].map(([text]) => text));
    const { ask } = await user(texts);
    const embedder = await usable(new NgramEmbeddings(1024));
    for (const l of languages) {
      const places = { off: [] as number[], used: [] as number[] };
      let [silentOff, silentUsed] = [0, 0];
      for (const [text, question] of pairs[l]) {
        places.off.push((await ask(question)).texts.indexOf(text));
        places.used.push((await ask(question, { embedder })).texts.indexOf(text));
      }
      for (const question of absent[l]) {
        if ((await ask(question)).texts.length === 0) silentOff += 1;
        if ((await ask(question, { embedder })).texts.length === 0) silentUsed += 1;
      }
      const share = (hits: readonly number[], n: number) =>
        hits.filter((p) => p >= 0 && p < n).length / hits.length;
      process.stdout.write(
        `| ${l} | ${share(places.off, 1).toFixed(2)} / ${share(places.used, 1).toFixed(2)} | ${share(places.off, 5).toFixed(2)} / ${share(places.used, 5).toFixed(2)} | ${silentOff} / ${silentUsed} of ${absent[l].length} |\n`,
      );
      expect(share(places.used, 5)).toBeGreaterThanOrEqual(share(places.off, 5));
    }
  });

  test('M16 cosine over a long memory stays within its bound', () => {
    const items = Array.from({ length: 2_000 }, (_, i) => ({
      id: `f${i}`,
      vector: Float32Array.from({ length: 384 }, (__, d) => Math.sin(i * 31 + d)),
    }));
    const began = performance.now();
    const found = nearest(items, items[7]!.vector, { least: 0.99, limit: 3 });
    process.stdout.write(
      `2,000 facts of 384 dimensions: ${(performance.now() - began).toFixed(1)} ms\n`,
    );
    expect(found[0]).toBe('f7');
    expect(performance.now() - began).toBeLessThan(500);
  });

  test('M16 fusion prefers what both lists name', () => {
    expect(
      fused(
        [
          ['a', 'b', 'c'],
          ['d', 'b'],
        ],
        3,
      ),
    ).toEqual(['b', 'a', 'd']);
    expect(fused([[], ['d']], 3)).toEqual(['d']);
  });
});
