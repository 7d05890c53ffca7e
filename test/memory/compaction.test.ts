import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages';
import { beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Summarise, SummariseRequest } from '../../memory/context/compact.js';
import { createContext, type Context } from '../../memory/context/context.js';
import { extractiveSummary } from '../../memory/context/extractive-summary.js';
import { textOf } from '../../memory/context/message.js';
import { summaryPrompt } from '../../memory/context/model-summary.js';
import { mergeSummary, noSummary, type SummaryBuffer } from '../../memory/context/summary.js';
import { loadTokenizer, messageTokens, type Tokenizer } from '../../memory/context/tokens.js';
import { batchFrom } from '../../memory/extract.js';
import { createMask } from '../../memory/pii/mask.js';
import { text, transcript } from './context-arbitraries.js';
import { memoryStore } from './memory-store.js';

const budgetTokens = 800;
const system = 'You are brief.';
let tokenizer: Tokenizer;
let context: Context;
beforeAll(async () => {
  tokenizer = await loadTokenizer();
  context = createContext({ budgetTokens, tokenizer, system });
});

interface Thread {
  messages: BaseMessage[];
  summary: SummaryBuffer;
}
const cap = () => Math.floor(budgetTokens * 0.15);

/** Lets a thread live: asks before each model call what must be done, and does it. */
async function live(
  turns: number,
  summarise: Summarise,
  onPrompt: (messages: BaseMessage[]) => void = () => undefined,
  of = context,
) {
  const thread: Thread = { messages: [], summary: noSummary };
  const call = async (reply: (n: number) => BaseMessage) => {
    const done = await of.compact(thread, summarise);
    if (done?.kind === 'summarised') thread.summary = mergeSummary(thread.summary, done.summary);
    onPrompt(of.assemble(thread).messages);
    thread.messages.push(reply(thread.messages.length));
  };
  for (let t = 0; t < turns; t++) {
    thread.messages.push(
      new HumanMessage({
        id: `q${t}`,
        content: `question ${t} about order ${t * 7} and its delivery`,
      }),
    );
    if (t % 3 === 0) {
      await call(
        (n) =>
          new AIMessage({
            id: `c${n}`,
            content: '',
            tool_calls: [0, 1].map((i) => ({
              id: `call-${t}-${i}`,
              name: 'look_up',
              args: { order: t * 7 + i },
            })),
          }),
      );
      for (const i of [0, 1])
        thread.messages.push(
          new ToolMessage({
            id: `r${t}-${i}`,
            content: `row ${t} ${'shipped on Monday; '.repeat(20)}`,
            tool_call_id: `call-${t}-${i}`,
          }),
        );
    }
    await call(
      (n) =>
        new AIMessage({
          id: `a${n}`,
          content: `answer ${t}: it is on its way and will arrive soon`,
        }),
    );
  }
  return thread;
}

/** Keeps order numbers, drops the rest when there is no room. */
const faithful: Summarise = ({ previous, messages, maxTokens }) => {
  let words = [
    ...new Set(`${previous} ${messages.map((m) => m.text).join(' ')}`.split(/\s+/)),
  ].filter((w) => /^(\d+|FACT-\w+)$/.test(w));
  while (tokenizer.count(words.join(' ')) > maxTokens)
    words = words.filter((w, i) => w.startsWith('FACT') || i > 3);
  return Promise.resolve(words.join(' ') || 'nothing');
};

describe('a long thread', () => {
  test('M1 M6 properties 2, 11, 12: 300 turns with tools stay within budget, each message is summarised once, most of a request is the last one again', async () => {
    const summarised: number[] = [];
    let previous: BaseMessage[] = [];
    let shared = 0,
      sent = 0,
      over = 0,
      requests = 0;
    const thread = await live(
      300,
      (request) => {
        summarised.push(...request.messages.map((m) => m.index));
        return faithful(request);
      },
      (messages) => {
        requests += 1;
        const tokens = messages.map((m) => messageTokens(tokenizer, m));
        const total = tokens.reduce((a, b) => a + b, 0);
        if (total + 3 > 2_000) over += 1;
        const differs = messages.findIndex(
          (m, i) => previous[i] === undefined || JSON.stringify(previous[i]) !== JSON.stringify(m),
        );
        shared += tokens.slice(0, differs === -1 ? undefined : differs).reduce((a, b) => a + b, 0);
        sent += total;
        previous = messages;
      },
      createContext({ budgetTokens: 2_000, tokenizer, system }),
    );
    expect(over).toBe(0);
    expect(new Set(summarised).size).toBe(summarised.length);
    expect(summarised.toSorted((a, b) => a - b)).toEqual([...Array(thread.summary.upTo).keys()]);
    expect(thread.summary.round).toBeLessThan(requests / 4);
    expect(thread.messages.length).toBe(300 * 2 + 100 * 3);
    process.stdout.write(
      `| 300 turns, ${requests} requests, budget 2000 | over budget ${over} | summaries ${thread.summary.round} | cached prefix ${((100 * shared) / sent).toFixed(0)} % |\n`,
    );
    expect(shared / sent).toBeGreaterThan(0.7);
  });

  test('M6 property 14: what must be kept survives 50 compactions, since each is given the last', async () => {
    const asked: SummariseRequest[] = [];
    const keeping: Summarise = async (request) => {
      asked.push(request);
      const made = await faithful(request);
      return asked.length === 1 ? `FACT-alpha ${made}`.slice(0, 200) : made;
    };
    const thread = await live(420, keeping);
    expect(thread.summary.round).toBeGreaterThanOrEqual(50);
    expect(thread.summary.text).toContain('FACT-alpha');
    for (const [i, request] of asked.entries()) expect(request.previous === '').toBe(i === 0);
  });

  test('M6 property 11: work per turn does not grow with the thread', async () => {
    const counted: number[] = [];
    const counting = createContext({
      budgetTokens,
      system,
      tokenizer: {
        count: (t, limit) => {
          counted.push(t.length);
          return tokenizer.count(t, limit);
        },
      },
    });
    const costAt = (n: number) => {
      const messages = Array.from({ length: n }, (_, i) =>
        i % 2 === 0
          ? new HumanMessage({ id: `m${i}`, content: `question ${i}` })
          : new AIMessage({ id: `m${i}`, content: `answer ${i}` }),
      );
      messages.push(new HumanMessage({ id: 'last', content: 'and now?' }));
      const thread = {
        messages,
        summary: { text: 'so far', upTo: n - 8, upToId: `m${n - 9}`, round: 3 },
      };
      counted.length = 0;
      context.plan(thread);
      counting.plan(thread);
      counting.assemble(thread);
      return counted.length;
    };
    expect(costAt(10_000)).toBe(costAt(100));
  });

  test('M6 property 20: the transcript is never touched', async () => {
    await fc.assert(
      fc.asyncProperty(transcript({ exchanges: 20, most: 6 }), async (messages) => {
        const before = JSON.stringify(messages);
        const thread = { messages, summary: noSummary };
        const done = await context.compact(thread, faithful);
        const summary = done?.kind === 'summarised' ? done.summary : noSummary;
        const prompt = JSON.stringify(context.assemble({ messages, summary }).messages);
        expect(JSON.stringify(messages)).toBe(before);
        // Read again from a log, the same window comes out.
        expect(
          JSON.stringify(
            context.assemble({ messages: [...messages], summary: { ...summary } }).messages,
          ),
        ).toBe(prompt);
      }),
      { numRuns: 30 },
    );
  });
});

describe('summarising', () => {
  const full = (): Thread => ({
    summary: noSummary,
    messages: Array.from({ length: 30 }, (_, i) =>
      i % 2 === 0
        ? new HumanMessage({
            id: `m${i}`,
            content: `question ${i} ${'with some detail '.repeat(20)}`,
          })
        : new AIMessage({ id: `m${i}`, content: `answer ${i}` }),
    ),
  });

  test('M6 property 13: never above its cap; too long is asked for again once, then cut', async () => {
    await fc.assert(
      fc.asyncProperty(text(200), text(200), async (first, second) => {
        let calls = 0;
        const done = await context.compact(full(), ({ tooLong }) => {
          calls += 1;
          return Promise.resolve(tooLong === undefined ? first : second);
        });
        if (done?.kind !== 'summarised') return;
        expect(tokenizer.count(done.summary.text)).toBeLessThanOrEqual(cap());
        expect(done.calls).toBe(calls);
      }),
      { numRuns: 40 },
    );
  });

  test.each([
    ['throws', () => Promise.reject(new Error('down')), 'threw'],
    ['says nothing', () => Promise.resolve(' \n'), 'empty'],
    ['refuses', () => Promise.resolve("I'm sorry, I can't help with that."), 'refused'],
    ['never answers', () => new Promise<string>(() => undefined), 'timeout'],
  ] as const)(
    'M7 property 15: a summariser that %s changes nothing, and the budget holds',
    async (_, summarise, why) => {
      const quick = createContext({ budgetTokens, tokenizer, system, summariseTimeoutMs: 20 });
      const thread = full();
      expect(await quick.compact(thread, summarise)).toEqual({ kind: 'failed', why });
      const prompt = quick.assemble(thread);
      expect(prompt.tokens).toBeLessThanOrEqual(budgetTokens);
      expect(prompt.leftOut).toBe(true);
      expect((await quick.compact(thread, faithful))?.kind).toBe('summarised');
    },
  );

  test('M7 property 15: a cancelled turn is cancelled, not a failed summary', async () => {
    await expect(
      context.compact(
        full(),
        ({ signal }) => Promise.reject(signal.reason as Error),
        AbortSignal.abort(new Error('stop')),
      ),
    ).rejects.toThrow('stop');
  });

  test('M6 property 16: what came in while it was made survives, and an update applies once and only to its round', async () => {
    const thread = full();
    const done = await context.compact(thread, faithful);
    if (done?.kind !== 'summarised') throw new Error('nothing was summarised');
    thread.messages.push(new AIMessage({ id: 'new', content: 'came meanwhile' }));
    const merged = mergeSummary(thread.summary, done.summary);
    expect(
      textOf(context.assemble({ messages: thread.messages, summary: merged }).messages.at(-1)!),
    ).toBe('came meanwhile');
    const rival = { ...done.summary, text: 'a zombie', upTo: 4 };
    expect(mergeSummary(merged, rival)).toBe(merged);
    expect(mergeSummary(merged, done.summary)).toBe(merged);
  });

  test('M11 property 17: a range is written to long-term memory at most once, however often it is tried', async () => {
    const store = memoryStore();
    const owner = { tenant: 't', userId: '1' };
    const messages = [new HumanMessage({ id: 'm1', content: 'I prefer short answers' })];
    const batch = await batchFrom(messages, {
      threadId: 'a',
      range: '0-1',
      mask: createMask(),
      now: '2026-01-01T00:00:00.000Z',
    });
    const written = { added: 1, superseded: 0, episodes: 0 };
    expect(await store.remember(owner, batch)).toEqual(written);
    expect(await store.remember(owner, batch)).toEqual(written);
    expect(await store.facts(owner, { now: batch.now })).toHaveLength(1);
    expect(await store.facts({ ...owner, userId: '10' }, { now: batch.now })).toEqual([]);
  });

  test('M2 property 18: text is data, in prompts and in counts', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.constantFrom(
            '$&',
            "$'",
            '$`',
            '{messages}',
            '<|endoftext|>',
            '<|im_start|>system',
            '"}]',
            '\u0000',
            '\ud800',
            'Human:',
            '"',
          ),
          { maxLength: 30 },
        ),
        (parts) => {
          const said = parts.join(' ');
          const [, asked, ...more] = summaryPrompt({
            previous: said,
            messages: [{ index: 0, speaker: 'user', text: said }],
            maxTokens: 50,
            signal: new AbortController().signal,
          });
          expect(more).toEqual([]);
          expect(JSON.parse(textOf(asked!))).toEqual({
            summary_so_far: said,
            said: [{ speaker: 'user', text: said }],
          });
          expect(tokenizer.count(said)).toBeGreaterThanOrEqual(said === '' ? 0 : 1);
          const prompt = context.assemble({
            messages: [new HumanMessage(said)],
            summary: noSummary,
          });
          expect(prompt.messages.map((m) => textOf(m))).toEqual([system, said]);
        },
      ),
    );
  });

  test('M6 without a model the extractive summary keeps what users said, within its limit', async () => {
    const thread = full();
    const done = await context.compact(thread, extractiveSummary(tokenizer));
    if (done?.kind !== 'summarised') throw new Error('nothing was summarised');
    expect(done.summary.text).toMatch(/^user: question \d+ with/m);
    expect(done.cut).toBe(false);
    expect(tokenizer.count(done.summary.text)).toBeLessThanOrEqual(cap());
  });
});
