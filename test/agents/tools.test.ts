import { describe, expect, test } from '@jest/globals';
import { openDocs, shippedDocsFolder } from '../../agents/docs-index.js';
import { calculate } from '../../agents/tools/calculator.js';
import { isoTimeIn } from '../../agents/tools/clock.js';

describe('calculator', () => {
  test.each([
    ['1 + 2 * 3', 7],
    ['(1 + 2) * 3', 9],
    ['2^3^2', 512],
    ['2 * 3^2', 18],
    ['-(2^2)', -4],
    ['(-2)^2', 4],
    ['2^-1', 0.5],
    ['-3 + 5', 2],
    ['7 % 4', 3],
    ['0.1 + 0.2', 0.3],
    ['6 × 7 ÷ 2 − 1', 20],
    ['sqrt(2) ^ 2', 2],
    ['max(1, 2, min(9, 3))', 3],
    ['round(pi * 100) / 100', 3.14],
    ['1e3', 1000],
  ])('%s', (expression, value) => {
    expect(calculate(expression)).toBeCloseTo(value, 12);
  });

  test.each([
    ['process.exit()', /Only numbers/],
    ['constructor("x")', /Only numbers/],
    ['toString', /Only numbers/],
    ['"a" + 1', /Only numbers/],
    ['1 == 1', /Only numbers/],
    ['a => a', /./],
    ['1 +', /cannot be read/],
    ['', /./],
    ['1 2', /Only numbers/],
    ['-2^2', /two ways/],
    ['1 / 0', /not a finite number/],
    ['9^9^9', /not a finite number/],
    ['sqrt(-1)', /not a finite number/],
    ['1+'.repeat(200) + '1', /longer than/],
    ['('.repeat(140) + '1' + ')'.repeat(140), /./],
    ['-'.repeat(200) + '1', /too deeply|cannot be read/],
  ])('%s is refused', (expression, message) => {
    let value: unknown;
    try {
      value = calculate(expression);
    } catch (error) {
      expect((error as Error).message).toMatch(message);
      return;
    }
    // Parentheses alone nest nothing that is computed.
    expect([expression[0], value]).toEqual(['(', 1]);
  });
});

describe('clock', () => {
  const at = new Date('2026-07-01T22:30:05.900Z');
  test.each([
    ['UTC', '2026-07-01T22:30:05+00:00'],
    ['Europe/Berlin', '2026-07-02T00:30:05+02:00'],
    ['America/St_Johns', '2026-07-01T20:00:05-02:30'],
  ])('%s', (zone, text) => {
    expect(isoTimeIn(zone, at)).toBe(text);
    expect(Date.parse(text)).toBe(Math.floor(at.getTime() / 1000) * 1000);
  });

  test('a zone that is none is refused', () => {
    expect(() => isoTimeIn('Mars/Base', at)).toThrow(RangeError);
  });
});

describe('search', () => {
  test('finds a paragraph by heading and plural, and names its file', () => {
    const [best] = openDocs(shippedDocsFolder)('idempotency key', 1);
    expect(best).toMatchObject({ source: 'http-api.md' });
    expect(best?.text).toMatch(/Idempotency-Key/);
  });

  test.each(['What is a fence?', 'fences', 'how does hibernation work?', 'what is a superstep'])(
    "finds the design's own words: %s",
    (question) => {
      expect(openDocs(shippedDocsFolder)(question, 1)[0]).toMatchObject({
        source: 'what-is-everthread.md',
      });
    },
  );

  test('finds nothing for words that are nowhere', () => {
    expect(openDocs(shippedDocsFolder)('zebra the of', 3)).toEqual([]);
  });
});
