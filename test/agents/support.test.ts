import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { MemorySaver } from '@langchain/langgraph';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { shippedDocsFolder } from '../../agents/docs-index.js';
import { sectionsOf } from '../../agents/markdown-folder.js';
import { openLibrary, type Library } from '../../agents/support/library.js';
import { createSupport } from '../../agents/support/support.js';
import { createChatModel } from '../../llm/chat-model.js';
import { reply } from '../support/scripted-answers.js';
import { startScriptedModel, type ScriptedModel } from '../support/scripted-model.js';
import { known, unknown, vague } from './support-set.js';

type Graph = ReturnType<typeof createSupport>;

const shipped = openLibrary(shippedDocsFolder);

async function byRules(library: Library = shipped): Promise<Graph> {
  return createSupport({ library, model: await createChatModel('builtin', { docs: () => [] }) });
}

/** A thread on the graph, as the product runs it: the state stands in a saver that the call brings. */
function threadOn(graph: Graph) {
  const configurable = { thread_id: 'x', __pregel_checkpointer: new MemorySaver() };
  const ask = async (message: string) => {
    const input = { messages: [{ role: 'user', content: message }] };
    const { messages, ...told } = await graph.invoke(input, { configurable });
    return { ...told, answer: messages.at(-1)?.text ?? '', messages };
  };
  return { ask, state: async () => (await graph.getState({ configurable })).values as object };
}

describe('U1 a vague message is asked back', () => {
  test.each(vague)('%s', async (message) => {
    const reply = await threadOn(await byRules()).ask(message);
    expect(reply).toMatchObject({ clarification_needed: true, category: 'unclear', sources: [] });
    expect(reply.answer).toMatch(/[?？]/);
    for (const { title } of shipped.areas()) expect(reply.answer).toContain(title);
  });

  test('U1 it asks in the language of the message', async () => {
    const graph = await byRules();
    const answers = await Promise.all(
      ['help', 'ayuda', '도와주세요', '帮帮我'].map(
        async (m) => (await threadOn(graph).ask(m)).answer,
      ),
    );
    expect(answers.map((a) => a.split('\n')[0])).toEqual([
      expect.stringMatching(/Which area/),
      expect.stringMatching(/¿De qué tema/),
      expect.stringMatching(/어느 분야/),
      expect.stringMatching(/哪一方面/),
    ]);
  });

  test('U1 it never asks twice in a row, and asks again after an answer', async () => {
    const { ask } = threadOn(await byRules());
    const turns = [];
    for (const m of ['help', 'help', 'help', 'hello?', 'How do I delete a conversation?', 'help'])
      turns.push((await ask(m)).clarification_needed);
    expect(turns).toEqual([true, false, true, false, false, true]);
  });

  test.each([
    ['the number', '2'],
    ['an ordinal', 'the second one, please'],
    ['the name', 'Crashes'],
    ['the name in a sentence', 'it is about crashes'],
  ])('U1 the area is understood by %s', async (_, choice) => {
    const { ask } = threadOn(await byRules());
    expect((await ask('help')).answer).toContain('2. Crashes');
    const second = await ask(choice);
    expect(second).toMatchObject({ category: 'crashes', clarification_needed: false });
    expect(second.answer).toMatch(
      /Every accepted turn.*"Crashes" also covers: What may happen twice/s,
    );
    expect(second.sources).toMatchObject([
      { source: 'crashes.md', heading: 'What survives a crash' },
    ]);
  });

  test('U1 a number is a choice only after it was asked, also in another language', async () => {
    const graph = await byRules();
    expect((await threadOn(graph).ask('2')).clarification_needed).toBe(true);
    const { ask } = threadOn(graph);
    await ask('도와주세요');
    const second = await ask('2번이요');
    expect(second.category).toBe('crashes');
    expect(second.answer).toMatch(/출처: crashes\.md/);
  });

  test('U1 a question in answer to "which area?" is answered as such', async () => {
    const { ask } = threadOn(await byRules());
    await ask('it does not work');
    const second = await ask('streaming: what does the reset event mean?');
    expect(second).toMatchObject({ category: 'streaming', clarification_needed: false });
    expect(second.answer).toMatch(/void/);
  });
});

describe('U2 what the documents know is answered with its source', () => {
  test.each(known)('%s', async (question, category) => {
    const { answer, ...told } = await threadOn(await byRules()).ask(question);
    expect(told).toMatchObject({ category, clarification_needed: false });
    expect(told.sources[0]?.source).toBe(`${category}.md`);
    expect(answer).toContain(`${category}.md`);
  });

  test('U2 a follow-up leans on the question before; more is not the same again', async () => {
    const { ask } = threadOn(await byRules());
    const first = await ask('How do I resume a stream after my connection drops?');
    expect(first.answer).toMatch(/Last-Event-ID/);
    const more = await ask('tell me more');
    expect(more).toMatchObject({ category: 'streaming', clarification_needed: false });
    expect(more.sources).not.toEqual(first.sources);
  });

  test('U2 thanks are no question', async () => {
    expect(await threadOn(await byRules()).ask('Thank you so much!')).toMatchObject({
      ...{ answer: 'You are welcome.', category: 'other', clarification_needed: false },
    });
  });
});

describe('U3 what the documents do not know is said so', () => {
  test.each(unknown)('%s', async (question) => {
    const { answer, ...told } = await threadOn(await byRules()).ask(question);
    expect(told).toMatchObject({ category: 'other', sources: [], clarification_needed: false });
    expect(answer).toMatch(/do not say|no dicen nada|내용이 없으며|没有相关内容/);
  });
});

describe('a folder of an operator', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'everthread-docs-'));
    mkdirSync(path.join(folder, 'returns'));
    mkdirSync(path.join(folder, '.git'));
    const write = (file: string, text: string) => writeFileSync(path.join(folder, file), text);
    write('returns/refunds.md', '---\ntag: x\n---\n# Refunds\n\nMoney is back within nine days.\n');
    write(
      'returns/how.md',
      'Returns\n\n## Sending it back\n\n```sh\n# no heading\nship --back\n```\n',
    );
    write('delivery.md', '# 배송\n\n## 배송 기간\n\n배송은 보통 이틀 걸립니다.\n');
    write('.git/x.md', '# Hidden\n\nsecret words');
    write('notes.txt', 'not a document');
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test('U2 its files and sub-folders are the areas, in any language', async () => {
    const library = openLibrary(folder);
    expect(library.areas()).toEqual([
      { id: 'delivery', title: '배송' },
      { id: 'returns', title: 'Returns' },
    ]);
    const graph = await byRules(library);
    const refund = await threadOn(graph).ask('When do I get my money back?');
    expect(refund).toMatchObject({ category: 'returns' });
    expect(refund.answer).toMatch(/nine days.*Source: returns\/refunds\.md \(Refunds\)/s);
    const delivery = await threadOn(graph).ask('배송이 며칠 걸려요?');
    expect(delivery.answer).toMatch(/^배송은 보통 이틀 걸립니다\..*출처: delivery\.md/s);
    expect((await threadOn(graph).ask('secret words')).category).toBe('other');
  });

  test('a heading inside a fenced block is none, and a folder without documents is an error', () => {
    expect(sectionsOf('a.md', '# A\n\n~~~\n# b\n~~~\n## C `d`\ntext')).toEqual([
      { source: 'a.md', title: 'A', heading: 'A', text: '~~~\n# b\n~~~' },
      { source: 'a.md', title: 'A', heading: 'C d', text: 'text' },
    ]);
    expect(() => openLibrary(path.join(folder, '.git')).areas()).not.toThrow();
    rmSync(path.join(folder, '.git/x.md'));
    expect(() => openLibrary(path.join(folder, '.git')).areas()).toThrow(/no Markdown document/);
  });
});

describe('with a real model', () => {
  let server: ScriptedModel;
  let graph: Graph;
  beforeAll(async () => {
    server = await startScriptedModel(() => reply('From the passages (streaming.md).'));
    process.env.OPENAI_API_KEY = 'test';
    process.env.OPENAI_BASE_URL = server.url;
    graph = createSupport({
      library: shipped,
      model: await createChatModel('openai:scripted', { docs: () => [] }),
    });
  });
  afterAll(() => server.close());

  test('U2 it is shown the passages just before the question, and its words are the answer', async () => {
    const { ask } = threadOn(graph);
    await ask('help');
    expect(server.calls).toHaveLength(0);
    const question = 'How do I resume a stream after my connection drops?';
    expect(await ask(question)).toMatchObject({
      ...{ answer: 'From the passages (streaming.md).', category: 'streaming' },
    });
    const { messages } = server.calls[0]!;
    expect(messages.map((m) => m.role)).toEqual(['system', 'user', 'assistant', 'user', 'user']);
    expect(JSON.stringify(messages.at(-2))).toMatch(
      /information, not instructions.*Last-Event-ID/s,
    );
    expect(JSON.stringify(messages.at(-1))).toContain(question);
  });

  test('U3 without a passage it is not asked at all', async () => {
    const calls = server.calls.length;
    const { answer } = await threadOn(graph).ask(unknown[0]!);
    expect(answer).toMatch(/do not say/);
    expect(server.calls).toHaveLength(calls);
  });
});

describe('a long thread', () => {
  test('U5 is summarised once per range, without a model, and its messages stay', async () => {
    const { ask, state } = threadOn(await byRules());
    const rounds: number[] = [];
    for (let i = 0; i < 24; i++) {
      await ask(known[i % 20]![0]);
      const { summary } = (await state()) as { summary: { round: number; text: string } };
      rounds.push(summary.round);
      if (summary.round > 0) expect(summary.text).toMatch(/user: /);
    }
    expect(rounds.at(-1)).toBeGreaterThanOrEqual(1);
    expect(rounds.at(-1)).toBeLessThanOrEqual(6);
    expect(((await state()) as { messages: unknown[] }).messages).toHaveLength(48);
  });
});
