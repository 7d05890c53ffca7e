/** How long a small tenant waits beside a busy one, and whether a queue's rate holds over several workers (Q4, Q5). */
import { AIMessage } from '@langchain/core/messages';
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { setTimeout as pause } from 'node:timers/promises';
import path from 'node:path';
import { connectTemporal } from '../../temporal/connection.js';
import { startDevServer } from '../../temporal/dev-server.js';
import { setQueue } from '../../temporal/queue-config.js';
import { durable, forgivingWaker, loaded } from '../../test/support/durable.js';
import type { Durable } from '../../test/support/durable.js';
import { testCli } from '../../test/support/temporal-server.js';
import { percentiles } from '../load.js';
import type { Stage } from '../stage.js';
import { figure } from '../table.js';
import type { Table } from '../table.js';

/** What a turn takes once it runs: a short call of a model. */
const turnMs = 200;
/** Turns at once of the only worker. */
const slots = 4;
const busyThreads = 200;

const graphOf = (ms: number, onStart: () => void = () => undefined) =>
  new StateGraph(MessagesAnnotation)
    .addNode('answer', async () => {
      onStart();
      await pause(ms);
      return { messages: [new AIMessage('done')] };
    })
    .addEdge(START, 'answer')
    .compile();

export async function fairnessTable(stage: Stage): Promise<Table> {
  const rows: string[][] = [];
  for (const fairness of [false, true])
    for (const placed of [false, true]) rows.push(await besideBusy(stage, { fairness, placed }));
  return {
    title: `A tenant with one turn a second beside one with ${busyThreads} threads that wait (${slots} turns at once, each ${turnMs} ms)`,
    columns: [
      '',
      "turns' queue",
      'turns',
      'p50 wait ms',
      'p99 wait ms',
      'busy p50 s',
      'all done s',
    ],
    rows,
  };
}

async function withServer<T>(
  stage: Stage,
  fairness: boolean,
  work: (address: string) => Promise<T>,
): Promise<T> {
  const folder = stage.folder('fairness');
  const server = await startDevServer({
    ...{ cliPath: await testCli(), port: 0, uiPort: 0, headless: true, namespace: 'default' },
    dbFile: path.join(folder, 'temporal.db'),
    logFile: path.join(folder, 'temporal.log'),
    fairness,
  });
  stage.parts.add(server, () => server.stop());
  try {
    return await work(server.address);
  } finally {
    await server.stop();
  }
}

interface Case {
  readonly fairness: boolean;
  /** The graph lives on a queue of its own, so no turn is handed out eagerly. */
  readonly placed: boolean;
}

const besideBusy = (stage: Stage, { fairness, placed }: Case): Promise<string[]> =>
  withServer(stage, fairness, async (address) => {
    stage.say(
      `fairness ${fairness ? 'on' : 'off'}, ${placed ? 'a queue of its own' : 'main queue'}`,
    );
    const system = await durable({
      ...{ address, graphs: [loaded('slow', graphOf(turnMs))], turnsAtOnce: slots },
      wrap: { waker: forgivingWaker },
      ...(placed && { placed: { queues: ['main', 'gpu'], places: new Map([['slow', 'gpu']]) } }),
    });
    try {
      return await waits(stage, system, { fairness, placed });
    } finally {
      await system.stop();
    }
  });

/** Wait: from the acceptance to the end, without the turn itself. */
async function waits(stage: Stage, system: Durable, { fairness, placed }: Case): Promise<string[]> {
  const turnOf = async (tenant: string, threadId: string): Promise<number> => {
    const row = await system.settled(
      await system.post(threadId, 'hi', { thread: { tenant, threadId } }),
    );
    return (row.settledAtMs ?? NaN) - row.acceptedAtMs - turnMs;
  };
  const threads = stage.quick ? 20 : busyThreads;
  const started = performance.now();
  const over = new AbortController();
  // Two turns of each thread: the second is asked for while the first waits.
  const accepted: Promise<number>[] = [];
  for (let n = 0; n < threads * 2; n += 1) {
    accepted.push(turnOf('busy', `busy-${n % threads}`));
    if (n % 20 === 19) await pause(100); // a burst of them all at once takes Temporal longer than its calls may
  }
  const busy = Promise.all(accepted).finally(() => over.abort());
  busy.catch(() => undefined); // thrown where it is awaited below
  await pause(1_000);
  const small: Promise<number>[] = [];
  while (!over.signal.aborted) {
    const waiting = turnOf('small', `small-${small.length}`);
    waiting.catch(() => undefined); // thrown where they are awaited together
    small.push(waiting);
    await pause(1_000);
  }
  const busyWaits = await busy;
  const doneS = (performance.now() - started) / 1_000;
  const smallWaits = await Promise.all(small);
  const { p50Ms, p99Ms } = percentiles(smallWaits);
  return [
    fairness ? 'fairness' : 'first come, first served',
    placed ? 'its own' : 'main',
    String(smallWaits.length),
    figure(p50Ms),
    figure(p99Ms),
    figure(percentiles(busyWaits).p50Ms / 1_000),
    figure(doneS),
  ];
}

/** Starts within any one second, over two workers of a queue with a rate. */
export const rateTable = (stage: Stage): Promise<Table> =>
  withServer(stage, true, async (address) => {
    const rows: string[][] = [];
    for (const perSecond of stage.quick ? [20] : [null, 5, 20]) {
      stage.say(`two workers, ${perSecond ?? 'no'} turns a second`);
      const starts: number[] = [];
      const graph = graphOf(0, () => starts.push(performance.now()));
      const places = new Map([['limited', 'gpu']]);
      const system = await durable({
        ...{ address, graphs: [loaded('limited', graph)] },
        placed: { queues: ['main', 'gpu'], places },
      });
      const first = system.worker;
      const connection = await connectTemporal({ address, namespace: 'default', security: {} });
      const second = await system.startWorker({ queues: ['gpu'], places }, connection.native);
      const taskQueue = `${system.taskQueue}.gpu`;
      await setQueue(system.connection.native, 'default', { taskQueue, perSecond });
      const count = (perSecond ?? 20) * 8;
      const turns = await Promise.all(
        Array.from({ length: count }, (_, n) => system.post(`limited-${n}`, 'hi')),
      );
      await Promise.all(turns.map((turn) => system.settled(turn)));
      await second.stop();
      await connection.close();
      system.worker = first;
      await system.stop();
      const seconds = ((starts.at(-1) ?? NaN) - (starts[0] ?? NaN)) / 1_000;
      rows.push([
        perSecond === null ? 'none' : String(perSecond),
        String(starts.length),
        figure(seconds),
        figure((starts.length - 1) / seconds),
        String(mostWithin(starts, 1_000)),
      ]);
    }
    return {
      title: 'A rate limit of a task queue, two workers of it (everthread setup --queue-rate)',
      columns: ['limit, turns/s', 'turns', 's', 'turns/s', 'most in one second'],
      rows,
    };
  });

const mostWithin = (times: readonly number[], ms: number): number =>
  Math.max(...times.map((from) => times.filter((t) => t >= from && t < from + ms).length));
