import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { AIMessage, HumanMessage, type BaseMessage } from '@langchain/core/messages';
import { MemorySaver, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { createAssistant } from '../../agents/assistant.js';
import { defaultAgentSettings, type AgentSettings } from '../../agents/agent-settings.js';
import { openDocs, shippedDocsFolder } from '../../agents/docs-index.js';
import { createChatModel } from '../../llm/chat-model.js';
import type { MemoryStore } from '../../memory/store.js';
import { encodingFor, loadTokenizer, type Tokenizer } from '../../memory/context/tokens.js';
import { memoryStore } from '../memory/memory-store.js';
import { byOptions, reply, type Answer } from '../support/scripted-answers.js';
import { startScriptedModel, type ScriptedModel } from '../support/scripted-model.js';

const docs = openDocs(shippedDocsFolder);
const servers: ScriptedModel[] = [];
let tokenizer: Tokenizer;
beforeAll(async () => {
  tokenizer = await loadTokenizer({ encoding: encodingFor('scripted') });
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.close()));
});

async function assistantOn(
  answer: Answer,
  more: { settings?: Partial<AgentSettings>; memory?: MemoryStore; saver?: MemorySaver } = {},
) {
  const server = await startScriptedModel(answer);
  servers.push(server);
  process.env.OPENAI_API_KEY = 'test';
  process.env.OPENAI_BASE_URL = server.url;
  const model = await createChatModel('openai:scripted', { docs });
  const { settings, memory, saver = new MemorySaver() } = more;
  const graph = createAssistant({
    ...{ model, docs, settings: { ...defaultAgentSettings, ...settings } },
    ...(memory && { memory }),
  });
  // The saver comes with the call, as the engine brings it.
  const on = (thread: string, turn: string, user?: string) => ({
    configurable: {
      ...{ thread_id: thread, run_id: turn, tenant: 't', __pregel_checkpointer: saver },
      ...(user !== undefined && { user_id: user }),
    },
  });
  return { server, graph, on };
}

type Assistant = Awaited<ReturnType<typeof assistantOn>>;
const valuesOf = async (
  graph: Assistant['graph'],
  config: ReturnType<Assistant['on']>,
): Promise<{ messages?: BaseMessage[]; user_id?: string }> =>
  ((await graph.getState(config)) as { values: { messages?: BaseMessage[] } }).values;
const say = (turn: string, content: string) => ({
  messages: [new HumanMessage({ content, id: turn })],
});
const summaryAsked = (last: string) => last.startsWith('{"summary_so_far"');
/** Answers a summary with a short one, and everything else as the script of the message says. */
const summarising: Answer = (request, nth) =>
  summaryAsked(request.last) ? reply('They spoke of orders.') : byOptions(request, nth);

describe('M22 the assistant within its budget', () => {
  const long = (i: number) =>
    `turn-${i} ${'what was said about the order, in detail. '.repeat(20)}`;

  test('system first, never above the budget, one summary per range, the transcript whole', async () => {
    const { server, graph, on } = await assistantOn(summarising, {
      settings: { contextBudgetTokens: 1_500 },
    });
    for (let i = 0; i < 30; i += 1) await graph.invoke(say(`u${i}`, long(i)), on('a', `u${i}`));
    const chats = server.calls.filter(({ last }) => last.startsWith('turn-'));
    expect(chats).toHaveLength(30);
    for (const { messages } of chats) {
      expect(messages[0]?.role).toBe('system');
      const tokens = messages.reduce((sum, m) => sum + 4 + tokenizer.count(m.text), 0);
      expect(tokens).toBeLessThanOrEqual(1_500);
    }
    const summaries = server.calls.filter(({ last }) => summaryAsked(last));
    expect(summaries.length).toBeGreaterThan(3);
    expect(summaries.length).toBeLessThan(15);
    const seen = summaries.flatMap(({ last }) => last.match(/"user","text":"turn-\d+ /g) ?? []);
    expect(new Set(seen).size).toBe(seen.length);
    const { messages } = await valuesOf(graph, on('a', 'u29'));
    expect(messages).toHaveLength(60);
  });

  test('nobody is streamed the words of a summary', async () => {
    const { server, graph, on } = await assistantOn(summarising, {
      settings: { contextBudgetTokens: 1_500 },
    });
    const shown: string[] = [];
    for (let i = 0; i < 12; i += 1) {
      const stream = await graph.stream(say(`u${i}`, long(i)), {
        ...on('s', `u${i}`),
        streamMode: 'messages' as const,
      });
      for await (const [message] of stream as AsyncIterable<[BaseMessage]>)
        shown.push(message.text);
    }
    expect(server.calls.some(({ last }) => summaryAsked(last))).toBe(true);
    expect(shown.join('')).not.toContain('They spoke');
  });

  test('a summariser that fails stops no turn', async () => {
    const failing: Answer = (request, nth) =>
      summaryAsked(request.last) ? { kind: 'error', status: 500 } : byOptions(request, nth);
    const { graph, on } = await assistantOn(failing, { settings: { contextBudgetTokens: 1_500 } });
    for (let i = 0; i < 8; i += 1) {
      const { messages } = await graph.invoke(say(`u${i}`, long(i)), on('f', `u${i}`));
      expect(messages.at(-1)?.text).toContain(`turn-${i}`);
    }
  });
});

describe('M22 the guards of the assistant', () => {
  const tool = (name: string, args: Record<string, unknown> = {}) =>
    reply('', { toolCalls: [{ name, args }] });

  test('the same call with the same result three times is loop_detected', async () => {
    const { server, graph, on } = await assistantOn(() =>
      tool('calculator', { expression: '1+1' }),
    );
    await expect(graph.invoke(say('u', 'go'), on('l', 'u'))).rejects.toMatchObject({
      ...{ name: 'GuardError', code: 'loop_detected' },
      message: expect.stringContaining('calculator') as unknown,
    });
    expect(server.calls).toHaveLength(3);
  });

  test('other calls for ever are max_steps', async () => {
    const { server, graph, on } = await assistantOn((request) =>
      tool('calculator', { expression: `${request.messages.length}+1` }),
    );
    await expect(graph.invoke(say('u', 'go'), on('m', 'u'))).rejects.toMatchObject({
      code: 'max_steps',
    });
    expect(server.calls).toHaveLength(15);
  });

  test('tokens and cost of a turn have a cap', async () => {
    const loop: Answer = (request) =>
      tool('calculator', { expression: `${request.messages.length}+1` });
    for (const [settings, code] of [
      [{ maxTurnTokens: 200 }, 'token_limit'],
      [{ maxTurnCost: 0.000_001, prices: { input: 1, output: 1 } }, 'cost_limit'],
    ] as const) {
      const { graph, on } = await assistantOn(loop, { settings });
      await expect(graph.invoke(say('u', 'go '.repeat(50)), on(code, 'u'))).rejects.toMatchObject({
        code,
      });
    }
  });
});

describe('M22 state of the assistant', () => {
  test('M14 wrong shapes are refused at the edge; channels that are the agent’s own are not taken from it', async () => {
    const { graph, on } = await assistantOn(byOptions);
    const wrong = { ...say('u', 'hi'), max_steps: 'many' } as never;
    await expect(graph.invoke(wrong, on('w', 'u'))).rejects.toMatchObject({ code: 'state_shape' });
    const own = { ...say('u', 'hi'), memory_updated: true, user_id: 'x' } as never;
    await graph.invoke(own, on('o', 'u'));
    const values = await valuesOf(graph, on('o', 'u'));
    expect(values).toMatchObject({ memory_updated: false, is_completed: true, current_step: 1 });
    expect(values.user_id ?? '').toBe('');
  });

  test('a thread that an older build left, messages alone, goes on', async () => {
    const saver = new MemorySaver();
    const older = new StateGraph(MessagesAnnotation)
      .addNode('model', () => ({ messages: [new AIMessage('an old answer')] }))
      .addEdge(START, 'model')
      .compile({ checkpointer: saver });
    await older.invoke(say('old', 'an old question'), { configurable: { thread_id: 't' } });
    const { server, graph, on } = await assistantOn(byOptions, { saver });
    const { messages } = await graph.invoke(say('new', 'and now?'), on('t', 'new'));
    expect(messages).toHaveLength(4);
    expect(server.calls[0]?.users).toEqual(['an old question', 'and now?']);
  });

  test('M20 what is recalled stands before the question, by id in the state, and is gone when it is erased', async () => {
    const memory = memoryStore();
    const { server, graph, on } = await assistantOn(byOptions, { memory });
    const first = await graph.invoke(
      say('u1', 'Please remember that I prefer short answers'),
      on('m1', 'u1', 'dana'),
    );
    expect(first.memory_updated).toBe(true);
    const second = await graph.invoke(say('u2', 'how are you?'), on('m2', 'u2', 'dana'));
    expect(second.memory_updated).toBe(false);
    expect(server.calls[1]?.users[0]).toMatch(/From long-term memory.*\n.*I prefer short answers/s);
    expect(JSON.stringify(await valuesOf(graph, on('m2', 'u2')))).not.toContain('short answers');
    await graph.invoke(say('u3', 'and others?'), on('m3', 'u3', 'other'));
    await graph.invoke(say('u4', 'and nobody?'), on('m4', 'u4'));
    await memory.erase({ tenant: 't', userId: 'dana' });
    await graph.invoke(say('u5', 'and now?'), on('m5', 'u5', 'dana'));
    for (const call of server.calls.slice(2)) expect(call.users).toHaveLength(1);
  });
});
