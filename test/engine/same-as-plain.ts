import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openStorage } from '../../storage/open.js';
import type { Storage } from '../../storage/port.js';
import { driven, plainly, type TurnEnd } from './drive.js';
import type { Shape } from './shape.js';
import { storedThread } from './threads.js';

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

/** The same end as plain LangGraph, however the run is cut. */
export function sameAsPlain(shapes: readonly Shape[]): void {
  let storage: Storage;
  beforeAll(async () => {
    storage = await openStorage({ kind: 'memory' }, { autoMigrate: true });
  });
  afterAll(() => storage.close());

  describe.each(shapes.map((shape) => [shape.name, shape] as const))('%s', (_name, shape) => {
    let plain: readonly TurnEnd[];
    beforeAll(async () => {
      plain = await plainly(shape);
    });

    test('a whole run ends as plain LangGraph does', async () => {
      const { ends } = await driven(shape, storedThread(storage), {});
      expect(ends).toEqual(plain);
    });

    test('with listeners it ends the same', async () => {
      const { ends } = await driven(shape, storedThread(storage), { stream: true });
      expect(ends).toEqual(plain);
    });

    test('P5 yielded after every superstep and continued on a fresh graph, nothing runs twice', async () => {
      const { ends } = await driven(shape, storedThread(storage), { slice: 'superstep' });
      expect(ends).toEqual(plain);
    });

    test('P5 P11 cut off at every flush and resumed on a fresh graph, only what was cut off runs again', async () => {
      let crashAt = 1;
      for (; ; crashAt += 1) {
        const { ends, crashes } = await driven(shape, storedThread(storage), { crashAt });
        const bare = plain.map(withoutRan);
        expect({ crashAt, ends: ends.map(withoutRan) }).toEqual({ crashAt, ends: bare });
        for (const [i, end] of ends.entries()) {
          const resumes = typeof shape.turns[i] === 'function' || shape.turns[i]?.kind === 'resume';
          const most = (resumes ? shape.resumeWidth : undefined) ?? shape.width ?? 1;
          expect(extra(end.ran, plain[i]?.ran ?? [])).toBeLessThanOrEqual(most);
        }
        if (crashes === 0) break;
      }
      expect(crashAt).toBeGreaterThan(1);
    });
  });
}
