import { describe, expect, test } from '@jest/globals';
import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';
import { turnMessages, turnOutput } from '../../engine/output.js';
import { canonicalJson, toJson } from '../../engine/plain-json.js';
import { isMessageLike, textOf, transcriptMessage, usageOf } from '../../engine/transcript.js';

describe('plain JSON', () => {
  test('equal values give equal bytes, whatever the order of their keys', () => {
    expect(canonicalJson({ b: 1, a: { d: [1, undefined], c: null } })).toBe(
      '{"a":{"c":null,"d":[1,null]},"b":1}',
    );
  });

  test('what JSON does not know becomes what a reader expects', () => {
    class Point {
      x = 1;
      readonly #hidden = 2;
      sum = (): number => this.x + this.#hidden;
    }
    expect(
      toJson({
        date: new Date(0),
        map: new Map([['k', new Set([1])]]),
        big: 10n,
        nan: Number.NaN,
        point: new Point(),
        bytes: new Uint8Array([1, 2]),
        url: new URL('http://x/'),
        error: new TypeError('no'),
        gone: undefined,
      }),
    ).toEqual({
      date: '1970-01-01T00:00:00.000Z',
      map: { k: [1] },
      big: '10',
      nan: null,
      point: { x: 1 },
      bytes: 'AQI=',
      url: 'http://x/',
      error: { name: 'TypeError', message: 'no' },
    });
  });

  test('a value that contains itself ends there; one that stands twice is shown twice', () => {
    const loop: Record<string, unknown> = { n: 1 };
    loop.self = loop;
    expect(toJson(loop)).toEqual({ n: 1, self: null });
    const twice = { n: 1 };
    expect(toJson([twice, twice])).toEqual([twice, twice]);
  });

  test('NUL and lone surrogates are repaired, and a key __proto__ stays a key', () => {
    expect(toJson({ a: 'x\u0000y\ud800' })).toEqual({ a: 'x\ufffdy\ufffd' });
    expect(canonicalJson(JSON.parse('{"__proto__": {"a": 1}}'))).toBe('{"__proto__":{"a":1}}');
  });
});

describe('transcript', () => {
  test('roles and parts of LangChain messages', () => {
    const shown = [
      new HumanMessage({ id: 'h', content: 'hi' }),
      new SystemMessage({ id: 's', content: 'be kind' }),
      new AIMessage({
        id: 'a',
        content: [
          { type: 'text', text: 'look ' },
          { type: 'image_url', image_url: { url: 'data:' } },
          { type: 'text', text: 'here' },
        ],
        tool_calls: [{ id: 'c', name: 'find', args: { q: 1 }, type: 'tool_call' }],
      }),
      new ToolMessage({ id: 't', content: 'no', tool_call_id: 'c', name: 'find', status: 'error' }),
    ].map((m) => transcriptMessage(m, 'none'));
    expect(shown).toEqual([
      { id: 'h', role: 'user', content: 'hi' },
      { id: 's', role: 'system', content: 'be kind' },
      {
        id: 'a',
        role: 'assistant',
        content: 'look here',
        parts: [{ type: 'image_url', image_url: { url: 'data:' } }],
        tool_calls: [{ id: 'c', name: 'find', args: { q: 1 }, type: 'tool_call' }],
      },
      { id: 't', role: 'tool', content: 'no', tool_call_id: 'c', name: 'find', status: 'error' },
    ]);
  });

  test('plain objects read as messages by role or type, others do not', () => {
    expect(transcriptMessage({ role: 'user', content: 'x' }, 'f')).toEqual({
      ...{ id: 'f', role: 'user', content: 'x' },
    });
    expect(transcriptMessage({ type: 'ai', content: 'x' }, 'f').role).toBe('assistant');
    expect(
      [{ content: 'x' }, { role: 'user' }, 'x', null, { type: 'text', content: '' }].map(
        isMessageLike,
      ),
    ).toEqual([false, false, false, false, false]);
    expect(textOf(undefined)).toBe('');
  });

  test('usage is summed, and absent when no message has any', () => {
    expect(usageOf([{}, { usage_metadata: null }])).toBeUndefined();
    expect(
      usageOf([
        { usage_metadata: { input_tokens: 1, output_tokens: 2 } },
        { usage_metadata: { total_tokens: 4 } },
      ]),
    ).toEqual({ input_tokens: 1, output_tokens: 2, total_tokens: 7 });
  });
});

describe('a turn’s messages', () => {
  const m = (id: string, content = id) => new HumanMessage({ id, content });

  test('are those that were not there before, also after a trim, an edit or a reload', () => {
    const [a, b, c] = [m('a'), m('b'), m('c')];
    const ids = (final: HumanMessage[]) => turnMessages([a, b], final).map(({ id }) => id);
    expect(ids([a, b, c])).toEqual(['c']);
    expect(ids([b, c])).toEqual(['c']);
    expect(ids([m('a', 'edited'), m('b'), c])).toEqual(['c']);
    expect(ids([c, a, b])).toEqual(['c']);
    expect(ids([])).toEqual([]);
  });

  test('without ids are told by place and content', () => {
    const plain = (content: string) => ({ role: 'user', content });
    expect(turnMessages([plain('a')], [plain('a'), plain('a')])).toEqual([plain('a')]);
  });
});

describe('what an entrypoint returns', () => {
  test.each([
    ['a string', 'done', { response: 'done', messages: [], valuesJson: '{"result":"done"}' }],
    ['an object', { n: 1 }, { response: '', messages: [], valuesJson: '{"n":1}' }],
    ['a number', 7, { response: '', messages: [], valuesJson: '{"result":7}' }],
    ['nothing', null, { response: '', messages: [], valuesJson: '{}' }],
    [
      'a message',
      new AIMessage({ id: 'a', content: 'hi' }),
      {
        response: 'hi',
        messages: [{ id: 'a', role: 'assistant', content: 'hi' }],
        valuesJson: '{}',
      },
    ],
  ])('%s', (_what, value, output) => {
    expect(turnOutput(value, undefined, 't')).toEqual(output);
  });
});
