import { afterEach, describe, expect, test } from '@jest/globals';
import type { BaseMessage } from '@langchain/core/messages';
import { createAssistant } from '../../agents/assistant.js';
import { openDocs, shippedDocsFolder } from '../../agents/docs-index.js';
import { createChatModel } from '../../llm/chat-model.js';
import { byOptions, reply } from '../support/scripted-answers.js';
import { startScriptedModel, type ScriptedModel } from '../support/scripted-model.js';

const docs = openDocs(shippedDocsFolder);
const noon = new Date('2026-03-01T12:00:00Z');
const say = (content: string) => ({ messages: [{ role: 'user', content }] });
const texts = ({ messages }: { messages: BaseMessage[] }) => messages.map((m) => m.text);

const servers: ScriptedModel[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function scripted(answer = byOptions) {
  const server = await startScriptedModel(answer);
  servers.push(server);
  process.env.OPENAI_API_KEY = 'test';
  process.env.OPENAI_BASE_URL = server.url;
  const model = await createChatModel('openai:scripted', { docs });
  return { server, assistant: createAssistant({ model, docs, now: () => noon }) };
}

describe('the assistant on a real provider protocol', () => {
  test('a turn without tools is one superstep and one call', async () => {
    const { server, assistant } = await scripted();
    const steps: unknown[] = [];
    for await (const step of await assistant.stream(say('hello'), { streamMode: 'updates' }))
      steps.push(step);
    expect(steps.map((s) => Object.keys(s as object))).toEqual([['model']]);
    expect(server.calls).toHaveLength(1);
    expect(server.calls[0]?.tools).toEqual(['clock', 'calculator', 'search_docs']);
  });

  test('tools called together all answer, the model sees them in order, errors included', async () => {
    const { server, assistant } = await scripted((request) =>
      request.messages.at(-1)?.role === 'tool'
        ? reply('done')
        : reply('', {
            toolCalls: [
              { name: 'clock', args: { zone: 'Europe/Berlin' } },
              { name: 'calculator', args: { expression: '6*7' } },
              { name: 'calculator', args: { expression: 'process.exit()' } },
              { name: 'clock', args: { zone: 'Mars/Base' } },
              { name: 'search_docs', args: { query: 'idempotency' } },
              { name: 'rm', args: {} },
              { name: 'calculator', args: {} },
            ],
          }),
    );
    const result = await assistant.invoke(say('go'));
    expect(texts(result).at(-1)).toBe('done');
    const tools = result.messages.filter((m) => m.type === 'tool').map((m) => m.text);
    expect(tools).toEqual([
      '2026-03-01T13:00:00+01:00',
      '6*7 = 42',
      expect.stringMatching(/^Error: Only numbers/),
      expect.stringMatching(/^Error: .*time zone/i),
      expect.stringMatching(/Idempotency-Key.*http-api\.md/),
      'There is no tool "rm"; there are clock, calculator, search_docs.',
      expect.stringMatching(/^Error: .*schema/i),
    ]);
    expect(server.refusals).toEqual([]);
  });

  test('a model that calls tools for ever is stopped', async () => {
    const { server, assistant } = await scripted(() =>
      reply('', { toolCalls: [{ name: 'clock', args: {} }] }),
    );
    await expect(assistant.invoke(say('loop'))).rejects.toMatchObject({ name: 'GuardError' });
    expect(server.calls).toHaveLength(3);
  });

  test('tokens come one by one in messages mode, and add up to the reply', async () => {
    const { assistant } = await scripted();
    const tokens: string[] = [];
    const input = say('say=one%20two%20three%20four');
    for await (const chunk of await assistant.stream(input, { streamMode: 'messages' }))
      tokens.push((chunk as unknown as [BaseMessage])[0].text);
    expect(tokens.filter((t) => t !== '')).toEqual(['one ', 'two ', 'three ', 'four']);
  });

  test('an abort reaches the provider', async () => {
    const { server, assistant } = await scripted();
    const abort = new AbortController();
    const run = assistant.invoke(say('hang=1'), { signal: abort.signal });
    const failed = expect(run).rejects.toThrow(/abort/i);
    await server.until(() => server.calls.length === 1);
    abort.abort();
    await failed;
    await server.until(() => server.calls[0]!.aborted);
  });
});

describe('the assistant on the built-in model', () => {
  const open = async () => {
    const model = await createChatModel('builtin', { docs });
    return createAssistant({ model, docs, now: () => noon });
  };

  test('it calls the tools that a question clearly wants, and answers from their results', async () => {
    const assistant = await open();
    const time = await assistant.invoke(say('What time is it in Europe/Berlin?'));
    expect(time.messages).toHaveLength(4);
    expect(texts(time).at(-1)).toMatch(/not an LLM.*2026-03-01T13:00:00\+01:00/s);
    const sum = await assistant.invoke(say('What is 12 * (3 + 4)?'));
    expect(texts(sum).at(-1)).toMatch(/12 \* \(3 \+ 4\) = 84/);
    const search = await assistant.invoke(say('Search the docs for idempotency keys'));
    expect(texts(search).at(-1)).toMatch(/same key with another body.*http-api\.md/s);
  });
});
