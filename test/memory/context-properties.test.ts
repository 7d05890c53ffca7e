import {
  AIMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
  type BaseMessage,
} from '@langchain/core/messages';
import { beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Summarise } from '../../memory/context/compact.js';
import { createContext, type Context, type Prompt } from '../../memory/context/context.js';
import { ContextTooSmallError } from '../../memory/context/fit.js';
import { answeredCallOf, callsOf, speakerOf, textOf } from '../../memory/context/message.js';
import type { ContextState } from '../../memory/context/plan.js';
import { pruned, pruneToolOutputs, toolOutputOf } from '../../memory/context/prune.js';
import {
  coveredBy,
  mergeSummary,
  noSummary,
  type SummaryBuffer,
} from '../../memory/context/summary.js';
import { loadTokenizer, messageTokens, type Tokenizer } from '../../memory/context/tokens.js';
import { text, transcript } from './context-arbitraries.js';

type State = ContextState<BaseMessage>;
const system = 'You answer from the documents. $& {messages}';
const budgetTokens = 600;
let tokenizer: Tokenizer;
let context: Context;

beforeAll(async () => {
  tokenizer = await loadTokenizer();
  context = createContext({ budgetTokens, tokenizer, system });
});

/** Keeps what it is told to keep, and the beginning of each message. */
const faithful: Summarise = ({ previous, messages, maxTokens }) =>
  Promise.resolve(
    `${previous} ${messages.map((m) => m.text.slice(0, 12)).join(' ')}`.slice(-maxTokens) ||
      'nothing',
  );
const state = (messages: BaseMessage[], summary: SummaryBuffer = noSummary): State => ({
  messages,
  summary,
});
const summaries = fc.record({ text: text(60), cut: fc.nat({ max: 30 }) });
/** A state as a thread has it: a summary up to some border, of any length. */
const states = fc.tuple(transcript(), summaries).map(([messages, { text: t, cut }]) => {
  const borders = messages.flatMap((m, i) => (speakerOf(m) === 'user' ? [i] : []));
  const upTo = borders[cut % borders.length] ?? 0;
  return state(
    messages,
    upTo === 0 ? noSummary : { text: t, upTo, upToId: messages[upTo - 1]?.id ?? '', round: 1 },
  );
});
const bytes = (prompt: Prompt) => JSON.stringify(prompt.messages);
const sent = (prompt: Prompt) =>
  prompt.messages.reduce((n, m) => n + messageTokens(tokenizer, m), 3);
const holds = <T>(property: fc.IProperty<T>, numRuns = 60) => fc.assert(property, { numRuns });
const holdsSoon = <T>(property: fc.IAsyncProperty<T>, numRuns = 60) =>
  fc.assert(property, { numRuns });

async function settled(from: State, summarise = faithful): Promise<State> {
  const done = await context.compact(from, summarise);
  return done?.kind === 'summarised'
    ? { ...from, summary: mergeSummary(from.summary, done.summary) }
    : from;
}

describe('the 20 properties of a context', () => {
  test('M1 property 1: the system prompt is first, byte for byte, and nothing else is a system message', () => {
    holds(
      fc.property(states, (s) => {
        const withNote = state([new SystemMessage('from the history'), ...s.messages]);
        for (const { messages } of [context.assemble(s), context.assemble(withNote)]) {
          expect(textOf(messages[0]!)).toBe(system);
          expect(messages.slice(1).some((m) => speakerOf(m) === 'system')).toBe(false);
        }
      }),
    );
  });

  test('M1 property 2: never above the budget, whatever the messages and the summary', () => {
    holds(
      fc.property(states, text(80), (s, recalled) => {
        const prompt = context.assemble(s, { recalled });
        expect(prompt.tokens).toBeLessThanOrEqual(budgetTokens);
        expect(sent(prompt)).toBeLessThanOrEqual(prompt.tokens);
      }),
      120,
    );
  });

  test.each(['a', '가', ' ', '🙂', '中', '\u0301', 'x y '])(
    'M2 property 2: one message of 1 MB of %j is within budget and time',
    (c) => {
      const huge = c.repeat(Math.ceil(1_000_000 / c.length));
      const started = performance.now();
      for (const end of [
        [new HumanMessage(huge)],
        [
          new HumanMessage('read it'),
          new AIMessage({ content: '', tool_calls: [{ id: 'c', name: 'read', args: { huge } }] }),
          new ToolMessage({ content: huge, tool_call_id: 'c' }),
        ],
      ]) {
        const s = state([new HumanMessage('before'), new AIMessage(huge), ...end]);
        context.plan(s);
        expect(sent(context.assemble(s))).toBeLessThanOrEqual(budgetTokens);
      }
      expect(performance.now() - started).toBeLessThan(5_000);
    },
  );

  test('M1 property 3: pinned parts that exceed the budget are a typed error', () => {
    expect(() =>
      createContext({ budgetTokens: 200, tokenizer, system: 'word '.repeat(400) }),
    ).toThrow(ContextTooSmallError);
  });

  test('M1 property 4: every result follows its call, every call has one result unless it is the pending tail', () => {
    const shaken = fc
      .tuple(transcript(), fc.array(fc.nat(), { maxLength: 6 }))
      .map(([messages, drops]) => {
        const kept = new Set(messages.keys());
        for (const d of drops) kept.delete(d % messages.length);
        return state(messages.filter((_, i) => kept.has(i)));
      });
    holds(
      fc.property(fc.oneof(states, shaken), (s) => {
        const open = new Set<string>();
        for (const m of context.assemble(s).messages) {
          if (speakerOf(m) === 'tool') expect(open.delete(answeredCallOf(m))).toBe(true);
          else {
            expect(open.size).toBe(0);
            for (const call of callsOf(m)) open.add(call.id);
          }
        }
        if (open.size > 0)
          expect(s.messages.findLastIndex((m) => callsOf(m).length > 0)).toBeGreaterThan(
            s.messages.findLastIndex((m) => speakerOf(m) === 'user'),
          );
      }),
      120,
    );
  });

  test('M1 property 5: the newest question is there verbatim, or its ends with a note when it alone is too long', () => {
    holds(
      fc.property(states, (s) => {
        const question = textOf(s.messages.findLast((m) => speakerOf(m) === 'user')!);
        const shown = textOf(
          context.assemble(s).messages.findLast((m) => speakerOf(m) === 'user')!,
        );
        if (shown !== question) {
          expect(tokenizer.count(question)).toBeGreaterThan(budgetTokens / 8);
          expect(shown).toContain(`${question.length} characters in all`);
        }
      }),
    );
  });

  test('M5 property 6: no cut inside an exchange, and the running one is never summarised', () => {
    holds(
      fc.property(states, (s) => {
        const plan = context.plan(s);
        if (plan.kind !== 'summarise') return;
        expect(speakerOf(s.messages[plan.to]!)).toBe('user');
        expect(plan.to).toBeLessThanOrEqual(
          s.messages.findLastIndex((m) => speakerOf(m) === 'user'),
        );
        expect(plan.from).toBe(coveredBy(s.summary, s.messages));
      }),
      120,
    );
  });

  test('M3 property 7: cutting what is cut changes nothing and keeps the length; summarising twice does nothing more', async () => {
    holds(
      fc.property(text(40), (content) => {
        const once = pruned(new ToolMessage({ content, tool_call_id: 'c' }));
        expect(pruned(once)).toBe(once);
        if (content.length > 150)
          expect(textOf(once)).toContain(`Total Length ${content.length} chars]`);
        else expect(textOf(once)).toBe(content);
      }),
    );
    await holdsSoon(
      fc.asyncProperty(states, async (s) => {
        const once = await settled(s);
        const twice = await settled(once);
        expect(context.plan(twice).kind).not.toBe('summarise');
        expect(bytes(context.assemble(twice))).toBe(bytes(context.assemble(once)));
      }),
    );
  });

  test('M6 property 8: the same state gives the same bytes', () => {
    holds(
      fc.property(states, text(10), (s, recalled) => {
        const fresh = createContext({ budgetTokens, tokenizer, system });
        expect(bytes(fresh.assemble(s, { recalled }))).toBe(
          bytes(context.assemble(s, { recalled })),
        );
        expect(fresh.plan(s)).toEqual(context.plan(s));
      }),
    );
  });

  test('M5 property 9: below the trigger nothing but old outputs changes, and no summariser is called', async () => {
    await holdsSoon(
      fc.asyncProperty(transcript({ exchanges: 3, most: 3 }), async (messages) => {
        const s = state(messages);
        if (context.plan(s).kind !== 'fits') return;
        expect(await context.compact(s, () => Promise.reject(new Error('called')))).toBeUndefined();
        expect(JSON.stringify(context.assemble(s).messages.slice(1))).toBe(
          JSON.stringify(pruneToolOutputs(messages)),
        );
      }),
    );
  });

  test('M5 property 10: summarising brings the request to the low-water mark', async () => {
    await holdsSoon(
      fc.asyncProperty(transcript({ exchanges: 30, most: 4 }), async (messages) => {
        const before = state(messages);
        const after = await settled(before);
        if (after === before) return;
        const plan = context.plan(after);
        const newest = messages.slice(messages.findLastIndex((m) => speakerOf(m) === 'user'));
        const alone = pruneToolOutputs(messages)
          .slice(-newest.length)
          .reduce((n, m) => n + messageTokens(tokenizer, m), 0);
        expect(plan.tokens).toBeLessThanOrEqual(
          Math.max(budgetTokens * 0.5, alone + budgetTokens * 0.15 + 100),
        );
        expect(messages.length - after.summary.upTo).toBeLessThanOrEqual(
          Math.max(10, newest.length),
        );
      }),
    );
  });

  test('M3 M4 property 19: nothing splits a pair or a character, and the whole output stays reachable', () => {
    const family = '👩‍👩‍👧‍👦';
    holds(
      fc.property(
        fc.integer({ min: 0, max: 30 }),
        fc.integer({ min: 40, max: 3_000 }),
        (lead, n) => {
          const content = 'x'.repeat(lead) + family.repeat(n);
          const tool = new ToolMessage({ content, tool_call_id: 'c' });
          const kept = textOf(pruned(tool))
            .replace(/… \[Tool.*$/, '')
            .slice(lead);
          expect(kept.replaceAll(family, '')).toBe('');
          const [, shown] = context.assemble(state([new HumanMessage(content)])).messages;
          expect(
            textOf(shown!)
              .replace(/\n….*…\n/, '')
              .slice(lead)
              .replaceAll(family, ''),
          ).toBe('');
          expect(toolOutputOf([tool], 'c')).toBe(content);
        },
      ),
    );
  });
});
