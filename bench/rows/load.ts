/** Turns per second, latency and CPU per turn under load and on an idle thread, beside the floors in the same minutes. */
import { startScriptedModel } from '../../test/support/scripted-model.js';
import type { ScriptedModel } from '../../test/support/scripted-model.js';
import { reply } from '../../test/support/scripted-answers.js';
import { cpuMs } from '../cpu-time.js';
import { startFloor } from '../floor.js';
import { eventsPerTurn } from '../history-events.js';
import { chatTurns, httpClient } from '../http-turns.js';
import { idleLatencies, percentiles, runLoad, warmUp } from '../load.js';
import type { Load, LoadPlan } from '../load.js';
import { agentEnv, fixtureEnv, startProduct } from '../product.js';
import type { Product } from '../product.js';
import { replyTo, userMessage } from '../prose.js';
import type { Stage } from '../stage.js';
import { figure, ratio } from '../table.js';
import type { Table } from '../table.js';

const threadCounts = [1, 16, 64];

export async function loadTables(stage: Stage): Promise<readonly Table[]> {
  const { quick, say } = stage;
  const idleTurns = quick ? 8 : 100;
  const temporal = await stage.temporal();
  const floor = await startFloor(stage);
  const model = await zeroLatencyModel(stage);
  const contenders = [
    await contender(stage, { name: 'chat', env: fixtureEnv(stage) }),
    await contender(stage, { name: 'tools', env: fixtureEnv(stage) }),
    await contender(stage, { name: 'agent', env: agentEnv(model.url) }),
  ];

  const cold: string[][] = [];
  for (const { name, label, product, pids } of contenders) {
    say(`warming up: ${name}`);
    const turn = chatTurns(product.client, { prefix: 'cold', graph: name }, userMessage);
    const windows = await warmUp(stage, { turn, cpu: () => pids(temporal.pid) });
    cold.push([label, ...windows.map(figure)]);
  }
  forget(model);

  const loads: string[][] = [];
  for (const threads of threadCounts) {
    const plan: LoadPlan = {
      threads,
      warmUpMs: quick ? 500 : 4_000,
      measureMs: quick ? 1_500 : 12_000,
    };
    say(`${threads} threads: floor`);
    const least = await floor.load(plan);
    loads.push(loadRow(floorName, threads, least));
    for (const { name, label, product, pids } of contenders) {
      say(`${threads} threads: ${name}`);
      forget(model);
      const prefix = `load${threads}`;
      const load = await runLoad(plan, {
        turn: chatTurns(product.client, { prefix, graph: name }, userMessage),
        cpu: () => ({ ...pids(temporal.pid), client: ownCpu() }),
      });
      const some = Array.from({ length: Math.min(threads, 8) }, (_, n) => `${prefix}-${n}`);
      const events = await eventsPerTurn(temporal.address, product.client, some);
      loads.push(loadRow(label, threads, load, { least, events }));
    }
  }

  const idle: string[][] = [];
  say('idle threads');
  const express = httpClient(floor.expressUrl);
  const one = (): Promise<unknown> => express.post('/turn', { message: userMessage(0, 1) });
  await idleLatencies(3, one);
  idle.push(idleRow('express + one commit', percentiles(await idleLatencies(idleTurns, one))));
  idle.push(idleRow(floorName, await floor.idle(idleTurns)));
  for (const { name, label, product } of contenders) {
    forget(model);
    const turn = chatTurns(product.client, { prefix: 'idle', graph: name }, userMessage);
    await idleLatencies(5, () => turn(0));
    const latencies = await idleLatencies(idleTurns, () => turn(0));
    idle.push(idleRow(label, percentiles(latencies)));
  }
  for (const { product } of contenders) await product.end();
  express.close();
  return [
    {
      title: 'Turns under load (each thread sends its next turn when the last is answered)',
      columns: [
        '',
        'threads',
        'turns',
        'turns/s',
        'of floor',
        'p50 ms',
        'p99 ms',
        'CPU ms/turn',
        'process',
        'Temporal',
        'client+model',
        'events/turn',
      ],
      rows: loads,
    },
    {
      title: 'CPU ms/turn of a new process at 16 threads, Temporal included, up to turn',
      columns: ['', ...['250', '500', '750', '1000', '1250', '1500']],
      rows: cold,
    },
    { title: 'A turn on an idle thread', columns: ['', 'p50 ms', 'p99 ms'], rows: idle },
  ];
}

const floorName = 'Temporal floor';

const labels: Readonly<Record<string, string>> = {
  chat: 'one node, model in process',
  tools: 'tool agent (5 steps), model in process',
  agent: 'shipped agent, OpenAI over HTTP',
};

interface Contender {
  readonly name: string;
  readonly label: string;
  readonly product: Product;
  /** CPU of the processes that a turn takes: the product's own and Temporal's. */
  readonly pids: (temporalPid: number) => { readonly process: number; readonly temporal: number };
}

async function contender(
  stage: Stage,
  { name, env }: { readonly name: string; readonly env: Record<string, string> },
): Promise<Contender> {
  const { address } = await stage.temporal();
  const product = await startProduct(stage, {
    ...{ name, env, temporalAddress: address },
    profiled: name === 'chat',
  });
  const pids = (temporal: number) => ({ process: cpuMs(product.pid), temporal: cpuMs(temporal) });
  return { name, label: labels[name] ?? name, product, pids };
}

/** Answers at once, with prose. */
export async function zeroLatencyModel(stage: Stage): Promise<ScriptedModel> {
  const model = await startScriptedModel(({ messages, last }) =>
    reply(replyTo(messages.length, last)),
  );
  return stage.parts.add(model, () => model.close());
}

/** Its journal of every request would grow into what is measured. */
const forget = (model: ScriptedModel): void => {
  (model.calls as unknown[]).length = 0;
};

const ownCpu = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

function loadRow(
  label: string,
  threads: number,
  load: Load,
  against?: { readonly least: Load; readonly events: number },
): string[] {
  const { process: own = NaN, temporal = NaN, client } = load.cpuMsPerTurn;
  return [
    label,
    String(threads),
    String(load.turns),
    figure(load.perSecond),
    against === undefined ? '1' : ratio(load.perSecond / against.least.perSecond),
    figure(load.p50Ms),
    figure(load.p99Ms),
    figure(own + temporal),
    figure(own),
    figure(temporal),
    figure(client),
    figure(against?.events),
  ];
}

const idleRow = (label: string, { p50Ms, p99Ms }: { p50Ms: number; p99Ms: number }): string[] => [
  label,
  figure(p50Ms),
  figure(p99Ms),
];
