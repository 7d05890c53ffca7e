/** Shapes of the engine's suite in threads: the same ends as plain LangGraph gives in this thread. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import path from 'node:path';
import { pino } from 'pino';
import { openStorage } from '../../storage/open.js';
import type { Storage } from '../../storage/port.js';
import { type Isolation, startIsolation } from '../../worker/isolation/isolation.js';
import { plainStore } from '../../worker/project-store.js';
import { driven, type Driven, type Mode, plainly, type TurnEnd } from '../engine/drive.js';
import type { Shape } from '../engine/shape.js';
import { storedThread } from '../engine/threads.js';
import { shapesProject, type ShapesProject } from './shapes-project.js';

export const threadPath = path.resolve('dist/worker/isolation/thread.js');

/** What ran is known in the thread alone. */
const withoutRan = (ends: readonly TurnEnd[]) => ends.map(({ ran: _ran, ...end }) => end);

export function sameInThreads(shapes: readonly Shape[]): void {
  let project: ShapesProject;
  let storage: Storage;
  let isolation: Isolation;
  beforeAll(async () => {
    project = await shapesProject(shapes);
    storage = await openStorage({ kind: 'memory' }, { autoMigrate: true });
    isolation = startIsolation(
      { storage, store: plainStore, log: pino({ level: 'silent' }) },
      { graphConfig: project.graphConfig, threads: 2, memoryMb: undefined, threadPath },
    );
  });
  afterAll(async () => {
    await isolation.close();
    await storage.close();
    await project.remove();
  });

  const inThreads = (shape: Shape, mode: Mode): Promise<Driven> =>
    driven(
      shape,
      storedThread(storage, (options) => isolation.openAttempt(options)),
      { ...mode, runToStop: (run) => isolation.runToStop(run) },
    );

  test.each(shapes.map((shape) => [shape.name, shape] as const))(
    'P5 %s ends as plain LangGraph does: listened to, yielded and cut off',
    async (_name, shape) => {
      const plain = withoutRan(await plainly(shape));
      const inline = await driven(shape, storedThread(storage), { stream: true });
      const heard = await inThreads(shape, { stream: true });
      expect(withoutRan(heard.ends)).toEqual(plain);
      expect(textOf(heard)).toEqual(textOf(inline));
      const sliced = await inThreads(shape, { slice: 'superstep' });
      expect(withoutRan(sliced.ends)).toEqual(plain);
      const cut = await inThreads(shape, { crashAt: 2 });
      expect(withoutRan(cut.ends)).toEqual(plain);
    },
  );

  test('turns of many threads at once share the pool', async () => {
    const [shape] = shapes;
    if (shape === undefined) throw new Error('no shape');
    const plain = withoutRan(await plainly(shape));
    const all = await Promise.all(Array.from({ length: 8 }, () => inThreads(shape, {})));
    for (const { ends } of all) expect(withoutRan(ends)).toEqual(plain);
  });
}

const textOf = ({ frames }: Driven): readonly string[] =>
  frames.flatMap((frame) => (frame.kind === 'token' ? [frame.data.text] : []));
