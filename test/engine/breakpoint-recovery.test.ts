import { expect, test } from '@jest/globals';
import { InMemoryStore } from '@langchain/langgraph-checkpoint';
import { runToStop } from '../../engine/run-to-stop.js';
import { openStorage } from '../../storage/open.js';
import { driven, plainly, type TurnEnd } from './drive.js';
import { nestedShapes } from './shapes-nested.js';
import { storedThread } from './threads.js';

test("P11 a crash behind a subgraph's early flush does not pass the subgraph's own breakpoint", async () => {
  const shape = nestedShapes.find(({ name }) => name === 'static breakpoint in a subgraph');
  if (shape === undefined) throw new Error('no such shape');
  const storage = await openStorage({ kind: 'memory' }, { autoMigrate: true });
  const withoutRan = (ends: readonly TurnEnd[]) => ends.map(({ ran: _ran, ...end }) => end);
  // A run with a store ends a moment later, so that the subgraph's rows are flushed before its interrupt is settled.
  const run = await driven(shape, storedThread(storage), {
    crashAt: 2,
    runToStop: (turn) => runToStop({ ...turn, store: new InMemoryStore() }),
  });
  expect(run.crashes).toBeGreaterThan(0);
  expect(withoutRan(run.ends)).toEqual(withoutRan(await plainly(shape)));
  await storage.close();
});
