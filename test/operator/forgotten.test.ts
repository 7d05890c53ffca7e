import { AIMessage } from '@langchain/core/messages';
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { walkStore, type TemporalSide, type Walked } from '../../cli/fsck-walk.js';
import { openOperatorStore, type DurableTarget } from '../../storage/operator-store.js';
import { threadRuns } from '../../temporal/thread-runs.js';
import { emptyTarget, onPostgres } from '../support/database.js';
import { durable, loaded } from '../support/durable.js';
import type { Durable } from '../support/durable.js';
import { startTestTemporal } from '../support/temporal-server.js';

const echo = new StateGraph(MessagesAnnotation)
  .addNode('answer', () => ({ messages: [new AIMessage('here')] }))
  .addEdge(START, 'answer')
  .compile();

let temporal: Awaited<ReturnType<typeof startTestTemporal>>;
let place: Awaited<ReturnType<typeof emptyTarget>>;
let system: Durable;
beforeAll(async () => {
  temporal = await startTestTemporal();
  place = await emptyTarget('postgres');
  const graphs = [loaded('echo', echo)];
  const sweep = { everyMs: 3_600_000, quietMs: 3_600_000 }; // the sweeper shall not be faster
  system = await durable({ address: temporal.address, target: place.target, graphs, sweep });
});
afterAll(async () => {
  await system.stop();
  await place.remove();
  await temporal.stop();
});

test('O2 a turn that no workflow runs is found when Temporal is asked, and --repair signals it', async () => {
  const thread = { tenant: 'default', threadId: 'forgotten' };
  const accepted = await system.storage.turns.accept({
    ...{ thread, turnId: randomUUID(), defaultGraph: 'echo', digest: 'v1:x' },
    ...{ input: { kind: 'message', text: 'hello' }, multitask: 'enqueue' },
    ...{ stream: false, maxPending: 10 },
  });
  if (accepted.kind !== 'accepted') throw new Error(accepted.kind);
  expect(await look(false)).toMatchObject({ findings: [] }); // the sweeper still has its time
  await grownOld();
  expect(await look(false)).toMatchObject({ findings: [{ code: 'turn_not_running' }] });
  const repaired = await look(true);
  expect(repaired).toMatchObject({ findings: [], repaired: [{ code: 'turn_not_running' }] });
  expect(await system.settled(accepted.turn)).toMatchObject({ status: 'committed' });
  expect(await look(false)).toMatchObject({ findings: [] });
});

const url = (): string => (place.target as Extract<DurableTarget, { kind: 'postgres' }>).url;

/** Two minutes later, without waiting for them. */
const grownOld = (): Promise<unknown> =>
  onPostgres(url(), (client) =>
    client.query('UPDATE et_turns SET accepted_at_ms = accepted_at_ms - 120000, alive_at_ms = 0'),
  );

async function look(repair: boolean): Promise<Walked> {
  const { native } = system.connection;
  const runs = threadRuns(
    { namespace: 'default', call: (ask) => ask(native.workflowService) },
    system.storage.store,
  );
  const side: TemporalSide = {
    isOpen: (thread) => runs.isOpen(thread),
    wake: (turn) => system.wake.wake(turn, { start: true }),
  };
  const store = await openOperatorStore(place.target as DurableTarget, repair ? 'repair' : 'check');
  try {
    return await walkStore({ store, temporal: side, repair });
  } finally {
    await store.close();
  }
}
