/** A worker's streams on a real Temporal server, whatever carries them; without a relay turns and cancels do as well (S1). */
import { AIMessage } from '@langchain/core/messages';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import type { Frame, Relay } from '../../contracts/frames.js';
import { modeSet } from '../../contracts/stream-modes.js';
import type { TurnRecord } from '../../storage/port.js';
import { localRelay } from '../../storage/relay-local.js';
import { durable, loaded, type Durable } from '../support/durable.js';
import { silentRelay } from '../support/silent-relay.js';
import { startTestTemporal, type TestTemporal } from '../support/temporal-server.js';
import { until } from '../support/until.js';

/** Goes round until the test has seen enough: each round is a superstep of about 50 ms. */
let enough = false;
const rounds = new StateGraph(MessagesAnnotation)
  .addNode('round', async () => {
    await pause(50);
    return { messages: [new AIMessage('round ')] };
  })
  .addEdge(START, 'round')
  .addConditionalEdges('round', () => (enough ? END : 'round'))
  .compile({ name: 'rounds' })
  .withConfig({ recursionLimit: 1_000 });

const endless = new StateGraph(MessagesAnnotation)
  .addNode('wait', async (_state, { signal }) => {
    await pause(600_000, undefined, { signal });
    return {};
  })
  .addEdge(START, 'wait')
  .compile();

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
});
afterAll(() => temporal.stop());

const running = (system: Durable, turn: TurnRecord): Promise<true> =>
  until('the turn to run', async () => {
    const row = await system.storage.turns.get(turn.thread, turn.turnId);
    return row?.status === 'running' || undefined;
  });

const relays: readonly (readonly [string, () => Relay])[] = [
  ['one process', localRelay],
  ['nothing', silentRelay],
];

describe.each(relays)('a worker over %s', (name, open) => {
  let system: Durable;
  beforeAll(async () => {
    const graphs = [loaded('rounds', rounds), loaded('endless', endless)];
    system = await durable({ address: temporal.address, graphs, relay: open() });
  });
  afterAll(() => system.stop());

  test('S1 a viewer that joins for stream modes gets them from the next superstep on', async () => {
    enough = false;
    const turn = await system.post('modes', 'go');
    const frames: Frame[] = [];
    system.relay.subscribe(turn.turnId, (frame) => frames.push(frame));
    await running(system, turn);
    await system.storage.turns.listen(turn.thread, turn.turnId, modeSet(['updates'], false));
    await until('the next claim', async () => {
      const row = await system.storage.turns.get(turn.thread, turn.turnId);
      return (row?.fence ?? 0) > 1 || undefined;
    });
    enough = true;
    expect((await system.settled(turn)).status).toBe('committed');
    if (name === 'nothing') {
      expect(frames).toEqual([]);
      return;
    }
    const shown = frames.filter((frame) => frame.fence > 1);
    expect(shown[0]).toMatchObject({ kind: 'text', seq: 1 });
    expect(shown[0]?.data).toEqual({ text: 'round '.repeat(shown[0]?.step ?? 0) });
    const message = expect.objectContaining({ type: 'ai', content: 'round ' }) as unknown;
    const updates = shown.filter(({ kind }) => kind === 'mode').map(({ data }) => data);
    expect(updates.length).toBeGreaterThan(0);
    for (const update of updates)
      expect(update).toEqual({ event: 'updates', data: { round: { messages: [message] } } });
  });

  test('P6 S1 a cancel reaches a run that waits in its node', async () => {
    const turn = await system.post('cancelled', 'go', { graph: 'endless' });
    await running(system, turn);
    await system.storage.turns.cancel(turn.thread, turn.turnId);
    const next = await system.post('cancelled', 'again', { graph: 'endless' });
    await running(system, next);
    await system.storage.turns.cancel(next.thread, next.turnId);
    expect((await system.settled(turn)).status).toBe('cancelled');
  });
});
