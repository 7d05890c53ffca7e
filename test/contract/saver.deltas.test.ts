import { describe, expect, test } from '@jest/globals';
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { emptyCheckpoint, uuid6 } from '@langchain/langgraph-checkpoint';
import fc from 'fast-check';
import { migrate } from '../../storage/migrate.js';
import { sqliteDriver } from '../../storage/driver-sqlite.js';
import { openStorage } from '../../storage/open.js';
import { printOf, sharedPrefix } from '../../storage/saver/deltas.js';
import { sharedList } from '../../storage/saver/sharing.js';
import type { FlushRows } from '../../storage/saver/port.js';
import { agent, chat, human } from '../support/saver-graphs.js';
import { type Runnable, SaverThread } from '../support/saver-run.js';
import { unfencedSaver } from '../support/unfenced-saver.js';

const known = (elements: readonly unknown[]) => ({ elements, prints: elements.map(printOf) });

describe('deltas', () => {
  test.each([
    ['content', (m: AIMessage) => (m.content = 'other')],
    ['a new field of additional_kwargs', (m: AIMessage) => (m.additional_kwargs.seen = true)],
    ['response_metadata', (m: AIMessage) => (m.response_metadata.x = 1)],
    [
      'arguments of a tool call',
      (m: AIMessage) => Object.assign((m.tool_calls ?? [])[0]?.args ?? {}, { a: 2 }),
    ],
    ['one more tool call', (m: AIMessage) => m.tool_calls?.push({ name: 'n', args: {} })],
    ['the name', (m: AIMessage) => (m.name = 'other')],
  ])('an edit in place is seen: %s', (_, edit) => {
    const message = new AIMessage({
      content: 'x',
      tool_calls: [{ id: '1', name: 'n', args: { a: 1 } }],
    });
    const list = known([new HumanMessage('a'), message]);
    expect(sharedPrefix(list, [...list.elements, 1])).toBe(2);
    edit(message);
    expect(sharedPrefix(list, [...list.elements, 1])).toBe(1);
  });

  test('the text of a content block counts, and so does an element that hides its content', () => {
    const block = { type: 'text' as const, text: 'a' };
    const list = known([new AIMessage({ content: [block] }), new Map(), 1, 'x']);
    expect(sharedPrefix(list, list.elements)).toBe(1);
    block.text = 'b';
    expect(sharedPrefix(list, list.elements)).toBe(0);
  });

  test('a history that several tool calls are sent is looked at once, and again when code of the graph has run', () => {
    const edited = new AIMessage('a');
    const list = { ...known([edited, new HumanMessage('b')]), version: '1' };
    const prefixIn = (looked: number) => sharedList('messages', list, looked).prefixOf;
    const before = prefixIn(0);
    expect(before(list.elements)).toBe(2);
    edited.content = 'other';
    expect(before(list.elements)).toBe(2);
    expect(prefixIn(0)(list.elements)).toBe(0);
    expect(prefixIn(2)(list.elements)).toBe(2);
    expect(prefixIn(2)([edited, new HumanMessage('b')])).toBe(1);
  });
});

type Edit =
  | {
      readonly kind: 'append' | 'replaceFrom' | 'edit';
      readonly at: number;
      readonly texts: string[];
    }
  | { readonly kind: 'remove'; readonly at: number };

const edits: fc.Arbitrary<Edit> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('append' as const),
      at: fc.nat(),
      texts: fc.array(fc.string(), { maxLength: 3 }),
    }),
  },
  fc.record({
    kind: fc.constantFrom('replaceFrom' as const, 'edit' as const),
    at: fc.nat(),
    texts: fc.array(fc.string(), { minLength: 1, maxLength: 2 }),
  }),
  fc.record({ kind: fc.constant('remove' as const), at: fc.nat() }),
);

const messageOf = (text: string): AIMessage | HumanMessage | ToolMessage =>
  text.length % 3 === 0
    ? new HumanMessage({ content: text, id: text })
    : text.length % 3 === 1
      ? new AIMessage({ content: [{ type: 'text', text }], response_metadata: { text } })
      : new ToolMessage({ content: text, tool_call_id: text });

function edited(list: readonly AIMessage[], edit: Edit): AIMessage[] {
  const at = list.length === 0 ? 0 : edit.at % list.length;
  switch (edit.kind) {
    case 'append':
      return [...list, ...edit.texts.map((t) => messageOf(t) as AIMessage)];
    case 'replaceFrom':
      return [...list.slice(0, at), ...edit.texts.map((t) => messageOf(t) as AIMessage)];
    case 'remove':
      return list.filter((_, i) => i !== at);
    case 'edit': {
      const target = list[at];
      if (target !== undefined) target.content = edit.texts.join();
      return [...list];
    }
  }
}

test('lists stored as differences equal lists stored whole, whatever is done to them', async () => {
  const driver = sqliteDriver(':memory:');
  await migrate(driver);
  await fc.assert(
    fc.asyncProperty(fc.array(edits, { maxLength: 12 }), async (sequence) => {
      const saver = unfencedSaver(driver);
      const config = (id?: string) => ({
        configurable: {
          thread_id: 't',
          checkpoint_ns: '',
          ...(id !== undefined && { checkpoint_id: id }),
        },
      });
      let parent: string | undefined;
      for (const [i, edit] of sequence.entries()) {
        // As LangGraph does: the next state is made of the elements that were read.
        const tuple = await saver.getTuple(config());
        const live = edited((tuple?.checkpoint.channel_values.messages ?? []) as AIMessage[], edit);
        const next = {
          ...emptyCheckpoint(),
          id: uuid6(i),
          channel_values: { messages: live },
          channel_versions: { messages: i + 1 },
        };
        await saver.put(
          config(parent),
          next,
          { source: 'loop', step: i, parents: {} },
          { messages: i + 1 },
        );
        parent = next.id;
        const read = await saver.getTuple(config());
        const whole: unknown = await saver.serde.loadsTyped(
          ...(await saver.serde.dumpsTyped(live)),
        );
        expect(read?.checkpoint.channel_values.messages).toEqual(whole);
      }
    }),
    { numRuns: 25 },
  );
  await driver.close();
});

const bytesOf = (rows: readonly FlushRows[]): number => {
  const sizes = rows.flatMap(({ checkpoints, deltas, writes }) => [
    ...checkpoints.map(({ body, metadata }) => body.length + metadata.length),
    ...deltas.map(({ rest }) => rest.length),
    ...writes.map(({ value }) => value.length),
  ]);
  return sizes.reduce((a, b) => a + b, 0);
};

describe('cost', () => {
  test.each([
    ['a chat', chat],
    ['an agent with Sends', agent],
  ] as [string, Runnable][])(
    'C7 %s writes as much after 1,000 messages as after 20',
    async (_, graph) => {
      const storage = await openStorage({ kind: 'memory' }, { autoMigrate: true });
      const bytesAfter = async (count: number): Promise<number> => {
        const here = new SaverThread(storage);
        here.verify = false;
        const messages = Array.from({ length: count }, (__, i) => {
          const text = `message ${1000 + i}`;
          return i % 2 === 0
            ? new HumanMessage({ id: text, content: text })
            : new AIMessage({ id: text, content: text });
        });
        await here.run({ graph, input: { messages: [...messages, ...human('1').messages] } });
        const { opened, last } = await here.run({ graph, input: human('2') });
        return bytesOf([...opened.flushed, last]);
      };
      expect(await bytesAfter(1000)).toBeLessThan(1.2 * (await bytesAfter(20)));
      await storage.close();
    },
  );

  test('a warm turn reads nothing, and an attempt that failed makes the next one read', async () => {
    const storage = await openStorage({ kind: 'memory' }, { autoMigrate: true });
    const here = new SaverThread(storage);
    await here.run({ graph: chat, input: human('a') });
    const base = async () => {
      await here.turn();
      const opened = await here.open();
      return { opened, values: await opened.attempt.baseValues() };
    };
    const warm = await base();
    const message = (warm.values?.messages as AIMessage[])[0];
    if (message === undefined) throw new Error('no message');
    message.content = 'changed by a run that fails';
    warm.opened.attempt.drop();
    await storage.claims.settle(
      warm.opened.turn.claim,
      { kind: 'failed', failure: { code: 'node_error', message: 'x' } },
      null,
    );
    const cold = await base();
    expect((cold.values?.messages as AIMessage[])[0]?.content).toBe('a');
    await storage.close();
  });
});
