import { afterEach, describe, expect, test } from '@jest/globals';
import { HumanMessage, type BaseMessage } from '@langchain/core/messages';
import fc from 'fast-check';
import { intakeFields, missingFrom, type Filled } from '../../agents/intake/fields.js';
import { advance, type Form } from '../../agents/intake/form.js';
import { createIntake } from '../../agents/intake/intake.js';
import { statedIn } from '../../agents/intake/stated.js';
import { createChatModel } from '../../llm/chat-model.js';
import { reply } from '../support/scripted-answers.js';
import { startScriptedModel, type ScriptedModel } from '../support/scripted-model.js';

const empty: Form = { fields: {}, asking: null, skipped: [], is_completed: false };

async function talk(messages: readonly string[], form: Form = empty) {
  let now = { ...form, reply: '' };
  for (const message of messages) now = await advance(now, message);
  return now;
}

describe('intake by rules', () => {
  test('it takes all that one message says, and asks for the rest one at a time', async () => {
    const first = await talk(['Hi, my name is Dana Kim and my email is dana@example.org.']);
    expect(first.fields).toEqual({ name: 'Dana Kim', email: 'dana@example.org' });
    expect(first).toMatchObject({ asking: 'topic', is_completed: false });
    const all = await talk(['a refund for order 12', 'skip', 'I work at Acme Inc.', 'yes'], first);
    expect(all).toMatchObject({ is_completed: true, skipped: ['phone'] });
    expect(all.fields).toEqual({
      ...first.fields,
      topic: 'a refund for order 12',
      company: 'Acme Inc',
    });
  });

  test('what does not fit is told with the reason and asked again', async () => {
    const asked = await talk(['hello', 'Dana Kim']);
    expect(asked.asking).toBe('email');
    const bad = await talk(['dana@nowhere'], asked);
    expect(bad.reply).toMatch(/cannot take that.*email address[\s\S]*e-mail address\?/i);
    expect(bad.fields).toEqual({ name: 'Dana Kim' });
    const phone = await talk(['my phone is 12 34 56 78'], bad);
    expect(phone.reply).toMatch(/country/);
  });

  test('a correction is taken at any time, and a change after the end asks for a new yes', async () => {
    const done = await talk([
      'my name is A B',
      'a@example.org',
      'topic: a bill',
      'skip',
      'skip',
      'yes',
    ]);
    expect(done.is_completed).toBe(true);
    const idle = await talk(['thanks'], done);
    expect(idle).toMatchObject({ is_completed: true, fields: done.fields });
    const changed = await talk(['my email is b@example.org'], done);
    expect(changed).toMatchObject({ is_completed: false, asking: 'confirm' });
    expect(changed.fields.email).toBe('b@example.org');
    expect((await talk(['no'], changed)).reply).toMatch(/what should i change/i);
    expect((await talk(['yes'], changed)).is_completed).toBe(true);
  });

  test('a field that was cleared over HTTP is missing again, whatever was confirmed', async () => {
    const done = await talk([
      'my name is A B',
      'a@example.org',
      'topic: a bill',
      'skip',
      'skip',
      'yes',
    ]);
    const { email: _gone, ...fields } = done.fields;
    const next = await talk(['hello'], { ...done, fields });
    expect(next).toMatchObject({ is_completed: false, asking: 'email' });
    expect((await talk(['yes'], { ...done, fields, asking: 'confirm' })).is_completed).toBe(false);
  });

  test.each([
    ['제 이름은 김다나, 이메일은 dana@example.org', { name: '김다나', email: 'dana@example.org' }],
    [
      'Me llamo Ana Ruiz y mi correo es ana@example.es',
      { name: 'Ana Ruiz', email: 'ana@example.es' },
    ],
    ['我叫王芳', { name: '王芳' }],
    ['call me on +49 30 901820', { phone: '+4930901820' }],
    [
      'name: Jo\nemail: jo@example.org\ntopic: access',
      { name: 'Jo', email: 'jo@example.org', topic: 'access' },
    ],
    ['What do you need my name for?', {}],
  ])('%j is read', (text, stated) => {
    expect(statedIn(text, null)).toEqual(stated);
  });

  test('whatever is said, fields stay of their types and completion needs them all', async () => {
    const words = fc.oneof(
      fc.string({ maxLength: 60 }),
      fc.constantFrom(
        'yes',
        'no',
        'skip',
        'my name is X Y',
        'x@example.org',
        'topic: bills',
        '+49 30 901820',
      ),
    );
    const property = fc.asyncProperty(fc.array(words, { maxLength: 12 }), async (messages) => {
      const { fields, is_completed } = await talk(messages);
      expect(intakeFields.partial().safeParse(fields).success).toBe(true);
      if (is_completed) expect(missingFrom(fields)).toEqual([]);
    });
    await fc.assert(property, { numRuns: 100 });
  });
});

describe('intake on a real provider protocol', () => {
  let server: ScriptedModel;
  afterEach(() => server.close());

  async function run(fields: Filled, calls: { name: string; args: Record<string, unknown> }[]) {
    server = await startScriptedModel((request) =>
      request.messages.at(-1)?.role === 'tool'
        ? reply('and now?')
        : reply('', { toolCalls: calls }),
    );
    process.env.OPENAI_API_KEY = 'test';
    process.env.OPENAI_BASE_URL = server.url;
    const model = await createChatModel('openai:scripted', { docs: () => [] });
    return await createIntake({ model }).invoke({ messages: [new HumanMessage('go')], fields });
  }
  const toolTexts = ({ messages }: { messages: BaseMessage[] }) =>
    messages.filter((m) => m.type === 'tool').map((m) => m.text);

  test('the model proposes and the schema decides; the reason goes back to the model', async () => {
    const result = await run({}, [
      { name: 'record_fields', args: { name: ' Dana ', email: 'nope', phone: '' } },
      { name: 'confirm_form', args: {} },
    ]);
    expect(result).toMatchObject({ fields: { name: 'Dana' }, is_completed: false });
    const [recorded, confirmed] = toolTexts(result);
    expect(recorded).toMatch(/Recorded: name\.[\s\S]*Refused: .*email/i);
    expect(confirmed).toMatch(/Refused: email, topic missing/);
    expect(server.calls[0]?.tools).toEqual(['record_fields', 'confirm_form']);
    expect(JSON.stringify(server.calls[1]?.messages[0])).toContain('Dana');
  });

  test('a form that is whole is completed by its tool alone, and a change opens it again', async () => {
    const whole = { name: 'D', email: 'd@example.org', topic: 'bills' };
    const confirmed = await run(whole, [{ name: 'confirm_form', args: {} }]);
    expect(confirmed.is_completed).toBe(true);
    await server.close();
    const changed = await run(whole, [
      { name: 'confirm_form', args: {} },
      { name: 'record_fields', args: { topic: 'other bills' } },
      { name: 'rm', args: {} },
    ]);
    expect(changed).toMatchObject({ is_completed: false, fields: { topic: 'other bills' } });
    expect(toolTexts(changed).at(-1)).toMatch(/no tool "rm"/);
  });
});

describe('intake state', () => {
  test('M14 a wrong shape is refused at the edge', async () => {
    const go = (fields: unknown) =>
      createIntake({}).invoke({ messages: [new HumanMessage('hi')], fields } as never);
    await expect(go({ email: 'no' })).rejects.toThrow(/State channel "fields"/);
    await expect(go({ other: 1 })).rejects.toThrow(/State channel "fields"/);
  });
});
