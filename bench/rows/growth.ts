/** What a long thread costs: its late turns against its early ones, and after a restart. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../../test/support/until.js';
import { logged, rowBytes } from '../bytes-written.js';
import { chatTurns } from '../http-turns.js';
import { idleLatencies, median, restMs } from '../load.js';
import { fixtureEnv, marksIn, startProduct } from '../product.js';
import type { Product, ProductOptions } from '../product.js';
import { userMessage } from '../prose.js';
import type { Stage } from '../stage.js';
import { figure, kB, ms, ratio } from '../table.js';
import type { Table } from '../table.js';

/** Turns in a window; its median stands for the turn in its middle. */
export const windowTurns = 10;

export interface Window {
  readonly latencyMs: number;
  readonly loggedBytes: number;
  readonly commits: number;
  readonly rowBytes: number;
}

export type Turn = () => Promise<void>;

export async function growthTables(stage: Stage): Promise<readonly Table[]> {
  const { quick, say } = stage;
  const [longTurn, toolTurn, restartTurn] = quick ? [80, 50, 40] : [1_000, 500, 500];
  const marks = path.join(stage.folder('marks'), 'marks');
  const { address } = await stage.temporal();
  const env = fixtureEnv(stage, marks);
  const options: ProductOptions = { name: 'growth', env, temporalAddress: address };
  let product = await startProduct(stage, options);
  const turnsOf = (graph: string, prefix: string): Turn => {
    const turn = chatTurns(product.client, { prefix, graph }, userMessage);
    return () => turn(0);
  };
  const [chat, tools, old] = [
    turnsOf('chat', 'long'),
    turnsOf('tools', 'tools'),
    turnsOf('chat', 'old'),
  ];
  const late = (turn: number): number => turn - windowTurns / 2;

  say('turn 10');
  await Promise.all([repeat(late(10), chat), repeat(late(10), tools)]);
  const early = await windowOf(product, 'long-0', chat, late(10));
  const earlyTools = await windowOf(product, 'tools-0', tools, late(10));
  say(`filling threads up to turn ${longTurn}`);
  await Promise.all([
    repeat(late(longTurn) - late(10) - windowTurns, chat),
    repeat(late(toolTurn) - late(10) - windowTurns, tools),
    repeat(restartTurn - 1, old),
  ]);
  say(`turn ${longTurn} of a chat, turn ${toolTurn} of a tool agent`);
  const lateChat = await windowOf(product, 'long-0', chat, late(longTurn));
  const lateTools = await windowOf(product, 'tools-0', tools, late(toolTurn));

  say('restarts');
  const again = async (): Promise<Product> => {
    await pause(restMs); // the last turn's end is reported: the threads are idle
    await product.end('SIGKILL');
    return await startProduct(stage, { ...options, dataFolder: product.dataFolder });
  };
  const [firstReplies, coldReads, warmReads]: [number[], number[], number[]] = [[], [], []];
  let stateBytes = 0;
  for (let n = 0; n < (quick ? 1 : 5); n += 1) {
    product = await again();
    firstReplies.push(await timed(() => turnsOf('chat', 'old')()));
    product = await again();
    await product.client.get('/v1/threads/tools-1').catch(() => undefined); // the route's own first use
    const read = async (): Promise<void> => {
      stateBytes = (await product.client.get('/v1/threads/long-0/state')).body.length;
    };
    coldReads.push(await timed(read));
    warmReads.push(await timed(read));
  }
  const [fromReady, fromKill]: [number[], number[]] = [[], []];
  product = await killInNode(stage, { product, options, marks, fromReady, fromKill });
  await product.end();

  return [
    growthTable('one-node chat', [early, lateChat], { turn: longTurn, budget: '<= 1.2' }),
    growthTable('tool agent (5 steps)', [earlyTools, lateTools], {
      turn: toolTurn,
      budget: '<= 1.5',
    }),
    {
      title: 'After kill -9 of the product and a start (times from readiness)',
      columns: ['', 'median', 'worst', 'budget'],
      rows: [
        timesRow(`first reply on a ${restartTurn}-turn thread`, firstReplies, '<= 1 s'),
        timesRow(
          `state of a ${longTurn}-turn thread, cold (${kB(stateBytes)} JSON)`,
          coldReads,
          '<= 40 ms',
        ),
        timesRow('the same read again', warmReads, ''),
        timesRow('a node cut off by the kill runs again', fromReady, '<= 1 s'),
        timesRow('the same, from the kill', fromKill, ''),
      ],
    },
  ];
}

/** A window of turns from idle, after `before` turns of the thread. */
export async function windowOf(
  product: Product,
  thread: string,
  turn: Turn,
  before: number,
): Promise<Window> {
  let latencies: readonly number[] = [];
  const log = await logged(product.dataFolder, async () => {
    latencies = await idleLatencies(windowTurns, turn);
  });
  const rows = rowBytes(product.dataFolder, thread, [before + 1, before + windowTurns]);
  return {
    latencyMs: median(latencies),
    loggedBytes: log.bytes / windowTurns,
    commits: log.commits / windowTurns,
    rowBytes: rows / windowTurns,
  };
}

/** Kills the process while a node runs and waits until that node has started once more; the times count from readiness. */
async function killInNode(
  stage: Stage,
  given: {
    readonly product: Product;
    readonly options: ProductOptions;
    readonly marks: string;
    readonly fromReady: number[];
    readonly fromKill: number[];
  },
): Promise<Product> {
  const { marks, options, fromReady, fromKill } = given;
  const times = stage.quick ? 1 : 3;
  let { product } = given;
  for (let n = 1; n <= times; n += 1) {
    const file = `${marks}-${n}`;
    const env = { ...options.env, BENCH_MARKS: file };
    await product.end('SIGKILL');
    const start = (): Promise<Product> =>
      startProduct(stage, { ...options, env, dataFolder: product.dataFolder });
    product = await start();
    await product.client
      .post(`/v1/threads/slow-${n}/turns`, { message: 'hello', graph: 'slow' }, respondAsync)
      .catch(() => undefined); // 202
    await until('the node to start', () => existsSync(file) || undefined);
    const kill = Date.now();
    await product.end('SIGKILL');
    product = await start();
    const ready = Date.now();
    const second = await until('the node to start again', () => marksIn(file)[1]);
    fromReady.push(second - ready); // below zero when it ran before `/readyz` was asked
    fromKill.push(second - kill);
  }
  return product;
}

const respondAsync = { prefer: 'respond-async' };

async function repeat(times: number, turn: Turn): Promise<void> {
  for (let n = 0; n < times; n += 1) await turn();
}

async function timed(work: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

function growthTable(
  name: string,
  [early, late]: readonly [Window, Window],
  { turn, budget }: { readonly turn: number; readonly budget: string },
): Table {
  const row = (what: string, of: (w: Window) => number, show: (n: number) => string) => [
    what,
    show(of(early)),
    show(of(late)),
    ratio(of(late) / of(early)),
  ];
  return {
    title: `Turn 10 against turn ${turn}: ${name} (latency ${budget}, written <= 20 kB for the chat)`,
    columns: ['', 'turn 10', `turn ${turn}`, 'ratio'],
    rows: [
      row('latency from idle, p50', (w) => w.latencyMs, ms),
      row('written to the log per turn', (w) => w.loggedBytes, kB),
      row('bytes of its rows per turn', (w) => w.rowBytes, kB),
      row('transactions per turn', (w) => w.commits, figure),
    ],
  };
}

const timesRow = (what: string, times: readonly number[], budget: string): string[] => [
  what,
  ms(median(times)),
  ms(Math.max(...times)),
  budget,
];
