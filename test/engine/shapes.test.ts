import { describe, expect, test } from '@jest/globals';
import { driven, plainly, type TurnEnd } from './drive.js';
import { plainShapes } from './shapes.js';

const counted = (names: readonly string[]): Record<string, number> =>
  names.reduce<Record<string, number>>((n, name) => ({ ...n, [name]: (n[name] ?? 0) + 1 }), {});

/** Executions beyond those of the plain run. */
const extra = (ran: readonly string[], plain: readonly string[]): number => {
  const once = counted(plain);
  return Object.entries(counted(ran)).reduce(
    (n, [name, times]) => n + times - (once[name] ?? 0),
    0,
  );
};

const withoutRan = ({ ran: _ran, ...end }: TurnEnd) => end;

describe.each(plainShapes.map((shape) => [shape.name, shape] as const))('%s', (_name, shape) => {
  test('a whole run ends as plain LangGraph does', async () => {
    const plain = await plainly(shape);
    const { ends } = await driven(shape, {});
    expect(ends).toEqual(plain);
  });

  test('with listeners it ends the same', async () => {
    const plain = await plainly(shape);
    const { ends } = await driven(shape, { stream: true });
    expect(ends).toEqual(plain);
  });

  test('P5 yielded after every superstep and continued on a fresh graph, nothing runs twice', async () => {
    const plain = await plainly(shape);
    const { ends } = await driven(shape, { slice: 'superstep' });
    expect(ends).toEqual(plain);
  });

  test('P5 P11 cut off at every flush and resumed on a fresh graph, only what was cut off runs again', async () => {
    const plain = await plainly(shape);
    let crashAt = 1;
    for (; ; crashAt += 1) {
      const { ends, crashes } = await driven(shape, { crashAt });
      expect({ crashAt, ends: ends.map(withoutRan) }).toEqual({
        crashAt,
        ends: plain.map(withoutRan),
      });
      for (const [i, end] of ends.entries()) {
        expect(extra(end.ran, plain[i]?.ran ?? [])).toBeLessThanOrEqual(shape.width ?? 1);
      }
      if (crashes === 0) break;
    }
    expect(crashAt).toBeGreaterThan(1);
  });
});
