import { afterEach, expect, test } from '@jest/globals';
import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { callModel } from '../../llm/call-model.js';
import { createChatModel } from '../../llm/chat-model.js';

const docs = () => [];
const key = process.env.OPENAI_API_KEY;
afterEach(() => {
  if (key === undefined) delete process.env.OPENAI_API_KEY;
  else process.env.OPENAI_API_KEY = key;
});

test('a provider that is not installed is named with the package to install', async () => {
  await expect(createChatModel('anthropic:claude-sonnet-4', { docs })).rejects.toThrow(
    'The model "anthropic:claude-sonnet-4" needs the npm package @langchain/anthropic, which is not installed. Run: npm install @langchain/anthropic',
  );
});

test.each([['nonsense'], ['nobody:model'], ['openai:'], ['']])(
  '"%s" names no provider, and the error lists those there are',
  async (spec) => {
    await expect(createChatModel(spec, { docs })).rejects.toThrow(
      /provider:model.*openai, anthropic/,
    );
  },
);

test('a missing key is told at once, with the variable', async () => {
  delete process.env.OPENAI_API_KEY;
  await expect(createChatModel('openai:gpt-5-mini', { docs })).rejects.toThrow(/OPENAI_API_KEY/);
});

test('a model name alone finds its provider, and a colon may be part of it', async () => {
  process.env.OPENAI_API_KEY = 'test';
  expect(await createChatModel('gpt-5-mini', { docs })).toMatchObject({ model: 'gpt-5-mini' });
  const tuned = await createChatModel('openai:ft:gpt-4o:org::id', { docs });
  expect(tuned).toMatchObject({ model: 'ft:gpt-4o:org::id' });
});

test('the built-in model loads no provider', async () => {
  const probe = `const { createChatModel } = await import('./dist/llm/chat-model.js');
    await createChatModel('builtin', { docs: () => [] });`;
  const { stderr } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '--eval', probe],
    { env: { ...process.env, NODE_DEBUG: 'esm', NODE_OPTIONS: '' }, maxBuffer: 64 << 20 },
  );
  expect(stderr).toContain('@langchain/core');
  expect(stderr).not.toContain('@langchain/openai');
});

test('an empty reply is an error, a tool call without words is none', async () => {
  const answering = (message: AIMessage) => ({ invoke: () => Promise.resolve(message) });
  const ask = [new HumanMessage('hi')];
  await expect(callModel(answering(new AIMessage('')), ask, {})).rejects.toMatchObject({
    code: 'model_garbage',
  });
  const call = new AIMessage({ content: '', tool_calls: [{ name: 'clock', args: {}, id: 'c' }] });
  await expect(callModel(answering(call), ask, {})).resolves.toBe(call);
});
