import { describe, expect, test } from '@jest/globals';
import { AIMessage, HumanMessage, type BaseMessage } from '@langchain/core/messages';
import { openDocs, shippedDocsFolder } from '../../agents/docs-index.js';
import { BuiltinChatModel } from '../../llm/builtin-model.js';

const model = new BuiltinChatModel({ docs: openDocs(shippedDocsFolder) });

/** Says the lines in one thread and returns the answers. */
async function talk(...lines: string[]): Promise<string[]> {
  const thread: BaseMessage[] = [];
  const answers: string[] = [];
  for (const line of lines) {
    thread.push(new HumanMessage(line));
    const { text } = await model.invoke(thread);
    thread.push(new AIMessage(text));
    answers.push(text);
  }
  return answers;
}

/** The answer to the last line, after an opening that takes the introduction. */
const answerTo = async (...lines: string[]) => (await talk('hello', ...lines)).at(-1);

test('the first answer says what it is and how to get a real model; later ones do not repeat it', async () => {
  const [first, second] = await talk('Tell me a joke?', 'Tell me another?');
  expect(first).toMatch(/^I am Everthread's built-in model, not an LLM.*EVERTHREAD_MODEL/);
  expect(second).not.toMatch(/EVERTHREAD_MODEL/);
});

test('it remembers the first turn', async () => {
  const [first, second] = await talk('Hello, what can you do?', 'And what did I just ask you?');
  expect(first).toMatch(/not an LLM/);
  expect(second).toBe('Just before this you wrote: "Hello, what can you do?"');
});

describe('answers from the conversation', () => {
  test.each([
    ['a name', ['My name is Ada', 'nice weather', 'What is my name?'], /Your name is Ada/],
    ['the newest name', ['My name is Ada', 'Call me Bob.', 'who am I?'], /Your name is Bob/],
    ['no name', ['what is my name?'], /have not told me/],
    ['a mood is no name', ["I'm tired", 'what is my name?'], /have not told me/],
    ['a greeting by name', ['I am Ada', 'hi'], /Hello, Ada!/],
    ['a count', ['one', 'how many messages have I sent?'], /sent 3 messages/],
    ['a list', ['one', 'list what I said so far'], /1\. "hello" 2\. "one"/],
    ['the first', ['one', 'what was my first message?'], /first message was: "hello"/],
    [
      'a fact told earlier',
      ['My cat is called Miau. She is black.', 'What is my cat called?'],
      /Earlier you said: "My cat is called Miau\."/,
    ],
  ])('%s', async (_, lines, expected) => {
    expect(await answerTo(...lines)).toMatch(expected);
  });
});

describe('answers from the documents, with their source', () => {
  test.each([
    ['What survives a crash?', /last finished step.*from crashes\.md/],
    ['How do I stream tokens?', /text\/event-stream.*from streaming\.md/],
    ['Which port does it listen on?', /8080.*from settings\.md/],
    ['How many characters may a message have?', /100,000.*from limits\.md/],
    ['What is Everthread?', /LangGraph.*from what-is-everthread\.md/],
  ])('%s', async (question, expected) => {
    expect(await answerTo(question)).toMatch(expected);
  });

  test('what is nowhere is not made up', async () => {
    expect(await answerTo('Who won the 1954 world cup?')).toMatch(/I do not guess/);
  });
});

test('it streams word by word, and the words add up to the same answer every time', async () => {
  const thread = [new HumanMessage('What survives a crash?')];
  const words: string[] = [];
  for await (const chunk of await model.stream(thread)) words.push(chunk.text);
  expect(words.length).toBeGreaterThan(20);
  expect(words.join('')).toBe((await model.invoke(thread)).text);
});

describe('tools', () => {
  const bound = model.bindTools([
    { name: 'clock' },
    { name: 'calculator' },
    { name: 'search_docs' },
  ]);
  const ask = async (question: string) => {
    const { tool_calls: calls } = await bound.invoke([new HumanMessage(question)]);
    return calls?.map(({ name, args }) => ({ name, ...args }));
  };

  test.each([
    ['what time is it?', [{ name: 'clock', zone: 'UTC' }]],
    ['What is the date in Asia/Tokyo?', [{ name: 'clock', zone: 'Asia/Tokyo' }]],
    ['2+2', [{ name: 'calculator', expression: '2+2' }]],
    ['What is sqrt(16) * 3?', [{ name: 'calculator', expression: 'sqrt(16) * 3' }]],
    ['please calculate (1 + 2) * 3 - 4', [{ name: 'calculator', expression: '(1 + 2) * 3 - 4' }]],
    ['search the docs for retries', [{ name: 'search_docs', query: ' retries' }]],
    ['I was born on 1990-05-12', []],
    ['We need 10-20 people for the house near the lake', []],
    ['hello', []],
  ])('%s', async (question, calls) => {
    expect(await ask(question)).toEqual(calls);
  });

  test('without tools none is called', async () => {
    const { tool_calls: calls } = await model.invoke([new HumanMessage('what time is it?')]);
    expect(calls).toEqual([]);
  });

  test('the same thread gives the same call id', async () => {
    const [a, b] = await Promise.all([1, 2].map(() => bound.invoke([new HumanMessage('2+2')])));
    expect(a?.tool_calls?.[0]?.id).toBe(b?.tool_calls?.[0]?.id);
  });
});
