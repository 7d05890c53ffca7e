/** Graphs' own stores on every backend: the same answers as LangGraph's store in memory, and what that one cannot show. */
import { describe, expect, test } from '@jest/globals';
import * as checkpoint from '@langchain/langgraph-checkpoint';
import {
  InMemoryStore,
  type BaseStore,
  type Operation,
  type OperationResults,
} from '@langchain/langgraph-checkpoint';
import fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import type { StoreTtl } from '../../storage/graph-store/port.js';
import { makeGraphStore, type StoreIndex } from '../../storage/graph-store/store-class.js';
import { query } from '../../storage/tx.js';
import { backends } from '../support/database.js';
import { databaseInTests } from '../support/database-in-tests.js';
import { NgramEmbeddings } from '../support/ngram-embeddings.js';
import { until } from '../support/until.js';

const dims = 32;
const embeddings = new NgramEmbeddings(dims);
const fields = ['text', 'parts[*].text'];
const index: StoreIndex = {
  ...{ model: 'ngrams', dims, fields },
  embed: (texts) => embeddings.embedDocuments([...texts]),
  embedQuery: (text) => embeddings.embedQuery(text),
};
const forever: StoreTtl = { defaultMs: null, refreshOnRead: false };

interface Inside {
  readonly data: Map<string, Map<string, unknown>>;
  readonly vectors: Map<string, Map<string, unknown>>;
}

/** LangGraph's own store, which keeps names of emptied namespaces and vectors of replaced values; ours does not. */
class Tidy extends InMemoryStore {
  override async batch<Op extends readonly Operation[]>(
    operations: Op,
  ): Promise<OperationResults<Op>> {
    const { data, vectors } = this as unknown as Inside;
    const isPut = (op: Operation): boolean => 'value' in op;
    const read = await super.batch(operations.filter((op) => !isPut(op)));
    const answers = structuredClone(read as unknown[]).values();
    const puts = operations.filter(isPut) as checkpoint.PutOperation[];
    for (const { namespace, key } of puts) vectors.get(namespace.join(':'))?.delete(key);
    await super.batch(puts);
    for (const [ns, items] of data) if (items.size === 0) data.delete(ns);
    return operations.map((op) =>
      isPut(op) ? null : answers.next().value,
    ) as OperationResults<Op>;
  }
}

const label = fc.constantFrom('a', 'b', 'a1', 'é', '%');
const namespace = fc.array(label, { minLength: 1, maxLength: 3 });
const key = fc.constantFrom('k', 'k1', 'л');
const text = fc.constantFrom(
  'red apple',
  'green apple',
  'a blue whale',
  '푸른 고래',
  'the old sea',
  '',
);
const value = fc.record(
  {
    n: fc.integer({ min: 0, max: 5 }),
    tag: fc.constantFrom('p', 'q', null, '3'),
    text,
    parts: fc.array(fc.record({ text }), { maxLength: 3 }),
    deep: fc.record({ n: fc.integer() }),
  },
  { requiredKeys: [] },
);
const bound = fc.integer({ min: 0, max: 5 });
const filter = fc.record(
  {
    tag: fc.oneof(
      fc.constantFrom('p', 'q', null, undefined),
      fc.record({ $ne: fc.constantFrom('p', null) }),
      fc.record({ $in: fc.constant(['p', '3']) }),
      fc.record({ $nin: fc.constant(['p']) }),
      fc.constant({}),
    ),
    n: fc.oneof(
      bound,
      fc.record({ $gt: bound, $lte: bound }),
      fc.record({ $gte: bound }),
      fc.record({ $lt: bound }),
    ),
    deep: fc.constant({ n: 1 }),
  },
  { requiredKeys: [] },
);
const page = { limit: fc.integer({ min: 0, max: 6 }), offset: fc.integer({ min: 0, max: 3 }) };
const path = fc.array(fc.oneof(label, fc.constant('*')), { minLength: 1, maxLength: 2 });
const put = fc.record(
  {
    namespace,
    key,
    value: fc.oneof({ weight: 4, arbitrary: value }, { weight: 1, arbitrary: fc.constant(null) }),
    index: fc.oneof(
      fc.constant(undefined),
      fc.constant(false),
      fc.constant(['text']),
      fc.constant(['$']),
    ),
  },
  { requiredKeys: ['namespace', 'key', 'value'] },
);
const operation = fc.oneof(
  { weight: 5, arbitrary: put },
  { weight: 2, arbitrary: fc.record({ namespace, key }) },
  {
    weight: 3,
    arbitrary: fc.record(
      { namespacePrefix: fc.array(label, { maxLength: 2 }), filter, query: text, ...page },
      { requiredKeys: ['namespacePrefix'] },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.record(
      {
        matchConditions: fc.array(
          fc.record({ matchType: fc.constantFrom('prefix', 'suffix'), path }),
          { maxLength: 2 },
        ),
        maxDepth: fc.integer({ min: 1, max: 3 }),
        ...page,
      },
      { requiredKeys: ['matchConditions'] },
    ),
  },
);

/** Answers without their times. */
const comparable = (answers: unknown): unknown =>
  JSON.parse(
    JSON.stringify(answers, (name, part: unknown) =>
      name === 'createdAt' || name === 'updatedAt' || part === undefined
        ? undefined
        : name === 'score'
          ? Math.round((part as number) * 1e6)
          : part,
    ),
  );

describe.each(backends)("graphs' stores on %s", (kind) => {
  const database = databaseInTests(kind);

  const storeOf = (
    tenant = `tenant-${randomUUID()}`,
    more: { readonly index?: StoreIndex; readonly ttl?: StoreTtl } = {},
  ): BaseStore => {
    const { ttl = forever } = more;
    const store = makeGraphStore(checkpoint, {
      index: more.index,
      batch: (ops) => database.storage.graphStore.batch(tenant, ops, ttl),
    });
    if (store === undefined) throw new Error('no store');
    return store;
  };

  test("M17 give the answers of LangGraph's own store, batch after batch", async () => {
    const batches = fc.array(fc.array(operation, { minLength: 1, maxLength: 5 }), {
      maxLength: 10,
    });
    await fc.assert(
      fc.asyncProperty(batches, fc.boolean(), async (all, indexed) => {
        const plain = new Tidy(indexed ? { index: { dims, embeddings, fields } } : undefined);
        const ours = storeOf(undefined, indexed ? { index } : {});
        for (const operations of all) {
          const expected: unknown = await plain.batch(structuredClone(operations) as Operation[]);
          const found: unknown = await ours.batch(operations as Operation[]);
          expect(comparable(found)).toEqual(comparable(expected));
        }
      }),
      { numRuns: 60 },
    );
  });

  test('M17 through the methods of BaseStore: a value is a copy, its times are kept, a prefix is no substring', async () => {
    const store = storeOf();
    const kept = { list: [1, { two: 'zwei\u0000\ud800' }], none: null, yes: true };
    await store.put(['users', '1'], 'profile', kept);
    const first = await store.get(['users', '1'], 'profile');
    expect(first).toMatchObject({ namespace: ['users', '1'], key: 'profile', value: kept });
    expect(first?.createdAt).toEqual(first?.updatedAt);
    expect(first?.createdAt).toBeInstanceOf(Date);
    await until('the clock to move', () =>
      Promise.resolve(Date.now() > first!.createdAt.getTime() || undefined),
    );
    await store.put(['users', '1'], 'profile', { n: 2 });
    const second = await store.get(['users', '1'], 'profile');
    expect(second?.createdAt).toEqual(first?.createdAt);
    expect(second!.updatedAt.getTime()).toBeGreaterThan(first!.updatedAt.getTime());
    for (const user of ['10', '1x', '%', '_']) await store.put(['users', user], 'profile', {});
    expect(await store.search(['users', '1'])).toHaveLength(1);
    expect(await store.search(['users'])).toHaveLength(5);
    expect(await store.listNamespaces({ suffix: ['1'] })).toEqual([['users', '1']]);
    await store.delete(['users', '1'], 'profile');
    expect(await store.get(['users', '1'], 'profile')).toBeNull();
  });

  test('M17 a tenant sees nothing of another', async () => {
    const [tenant, other] = [storeOf('a'), storeOf('ab')];
    await tenant.put(['n'], 'k', { of: 'a' });
    await other.put(['n'], 'k', { of: 'ab' });
    expect((await tenant.search([])).map((item) => item.value)).toEqual([{ of: 'a' }]);
    await tenant.delete(['n'], 'k');
    expect(await tenant.listNamespaces()).toEqual([]);
    expect(await other.get(['n'], 'k')).toMatchObject({ value: { of: 'ab' } });
  });

  test('M17 what cannot be kept is refused before anything is written', async () => {
    const store = storeOf();
    const good = { namespace: ['n'], key: 'good', value: { n: 1 } };
    const refused: Operation[] = [
      { namespace: [], key: 'k', value: {} },
      { namespace: ['a', ''], key: 'k', value: {} },
      { namespace: ['a\u001f'], key: 'k', value: {} },
      { namespace: ['a.b'], key: 'k', value: {} },
      { namespace: ['n'], key: 'k'.repeat(2_000), value: {} },
      { namespace: ['n'], key: 'k', value: 'text' as never },
      { namespace: ['n'], key: 'k', value: { big: 1n } },
    ];
    for (const operation of refused) await expect(store.batch([good, operation])).rejects.toThrow();
    expect(await store.search([])).toEqual([]);
  });

  test('M17 writers at the same time leave one item, whole', async () => {
    const store = storeOf(undefined, { index });
    const texts = Array.from({ length: 20 }, (_, i) => `text ${i}`);
    await Promise.all(
      texts.flatMap((text) => [
        store.put(['n'], 'one', { text }),
        store.put(['n'], text, { text }),
      ]),
    );
    expect(await store.search(['n'], { limit: 100 })).toHaveLength(21);
    const { value } = (await store.get(['n'], 'one'))!;
    const [best] = await store.search(['n'], { query: value.text as string, limit: 2 });
    expect(best?.score).toBeCloseTo(1);
    await Promise.all([store.delete(['n'], 'one'), store.put(['n'], 'one', { text: 'again' })]);
    const left = await store.get(['n'], 'one');
    const vectors = await database.driver.read(() =>
      query(`SELECT field FROM et_store_vectors WHERE item_key = 'one'`),
    );
    expect(vectors).toHaveLength(left === null ? 0 : 1);
  });

  test('M17 an item is over when its time is, reading it gives it more, and the sweeper removes it', async () => {
    const tenant = `tenant-${randomUUID()}`;
    const rows = (): Promise<readonly { at: number }[]> =>
      database.driver.read(() =>
        query<{ at: number }>(
          'SELECT expires_at_ms AS at FROM et_store_items WHERE tenant = $1',
          tenant,
        ),
      );
    const long = storeOf(tenant, { ttl: { defaultMs: 600_000, refreshOnRead: true } });
    await long.put(['n'], 'long', { n: 1 });
    const [before] = await rows();
    await until('a read to give it time', async () => {
      await long.search(['n']);
      const [after] = await rows();
      return after!.at > before!.at ? true : undefined;
    });
    const short = storeOf(tenant, { index, ttl: { defaultMs: 150, refreshOnRead: false } });
    await short.put(['s'], 'short', { text: 'soon over' });
    await until('the item to be over', async () =>
      (await short.get(['s'], 'short')) === null ? true : undefined,
    );
    expect(await short.search([], { query: 'soon over' })).toMatchObject([{ key: 'long' }]);
    expect(await short.listNamespaces()).toEqual([['n']]);
    expect(await rows()).toHaveLength(2);
    expect(await database.storage.graphStore.sweep(100)).toBe(1);
    expect(await rows()).toHaveLength(1);
    await short.put(['s'], 'short', { n: 2 });
    expect(await storeOf(tenant).get(['s'], 'short')).toMatchObject({ value: { n: 2 } });
  });

  test('M17 vectors of two models are never compared, and half a vector is an error', async () => {
    const tenant = `tenant-${randomUUID()}`;
    await storeOf(tenant, { index }).put(['n'], 'k', { text: 'red apple' });
    const other = storeOf(tenant, { index: { ...index, model: 'other' } });
    const [unranked] = await other.search(['n'], { query: 'red apple' });
    expect(unranked).toMatchObject({ key: 'k' });
    expect(unranked?.score).toBeUndefined();
    const half = storeOf(tenant, { index: { ...index, dims: 64 } });
    await expect(half.put(['n'], 'h', { text: 'red' })).rejects.toThrow(/32 dimensions.*says 64/);
    await expect(half.search(['n'], { query: 'red' })).rejects.toThrow(/dimensions/);
  });
});

test('M17 a project whose LangGraph has no stores gets none', () => {
  expect(
    makeGraphStore({}, { index: undefined, batch: () => Promise.resolve([]) }),
  ).toBeUndefined();
});
