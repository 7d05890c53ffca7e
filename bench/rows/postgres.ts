/** Gateway and worker as processes of their own on PostgreSQL. */
import { freePort } from '../../temporal/ports.js';
import { startCluster } from '../../test/support/processes.js';
import { cpuMs, treeCpuMs } from '../cpu-time.js';
import { startFloor } from '../floor.js';
import { eventsPerTurn } from '../history-events.js';
import { chatTurns, httpClient } from '../http-turns.js';
import { idleLatencies, percentiles, runLoad, warmUp } from '../load.js';
import type { Load } from '../load.js';
import { startPostgres } from '../postgres.js';
import { postgresWork, workSince } from '../postgres-work.js';
import { fixtureEnv, quietEnv } from '../product.js';
import { userMessage } from '../prose.js';
import { startRealServer } from '../real-server.js';
import type { Stage } from '../stage.js';
import { figure, kB } from '../table.js';
import type { Table } from '../table.js';
import { idleStreamRows, streamRows } from './streams.js';
import { tokenColumns, tokenRows } from './token.js';

const threads = 16;

export async function postgresTables(stage: Stage): Promise<readonly Table[]> {
  const { quick, say } = stage;
  say('starting PostgreSQL, a gateway and a worker');
  const postgres = await startPostgres();
  stage.parts.add(postgres, () => postgres.stop());
  const temporal = await (stage.realTemporal
    ? startRealServer({
        ...{ folder: stage.folder('real-temporal'), postgresUrl: `${postgres.url}/postgres`, say },
      }).then((server) => stage.parts.add(server, () => server.stop()))
    : stage.temporal());
  const cluster = await startCluster({
    port: await freePort(),
    workers: 1,
    postgresUrl: `${postgres.url}/postgres`,
    temporalAddress: temporal.address,
    env: { ...quietEnv, ...fixtureEnv(stage), EVERTHREAD_TASK_QUEUE: 'bench-postgres' },
  });
  stage.parts.add(cluster, () => cluster.stop());
  const client = httpClient(cluster.url);
  const cpu = () => ({
    gateway: cpuMs(cluster.gateway.child.pid ?? 0),
    worker: cpuMs(cluster.workers[0]?.child.pid ?? 0),
    temporal: cpuMs(temporal.pid),
    postgres: treeCpuMs(postgres.pid),
  });
  const plan = { threads, warmUpMs: quick ? 500 : 4_000, measureMs: quick ? 1_500 : 12_000 };
  say(`${threads} threads: floor`);
  const floor = await startFloor(stage, temporal);
  const least = await floor.load(plan);
  const leastIdle = await floor.idle(quick ? 5 : 60);
  say(`${threads} threads on PostgreSQL`);
  const chat = chatTurns(client, { prefix: 'load', graph: 'chat' }, userMessage);
  await warmUp(stage, { turn: chat, cpu });
  let turns = 0;
  const before = await postgresWork(`${postgres.url}/postgres`);
  const load = await runLoad(plan, {
    turn: (thread) => chat(thread).then(() => void (turns += 1)),
    cpu,
  });
  const work = workSince(before, await postgresWork(`${postgres.url}/postgres`), turns);
  const some = Array.from({ length: 8 }, (_, n) => `load-${n}`);
  const events = await eventsPerTurn(temporal.address, client, some);
  const turn = chatTurns(client, { prefix: 'idle', graph: 'chat' }, userMessage);
  await idleLatencies(5, () => turn(0));
  const idle = percentiles(await idleLatencies(quick ? 5 : 60, () => turn(0)));
  const tokens = await tokenRows(stage, client, '<= 30 ms');
  const streams = await streamRows(stage, client, () => {
    const { temporal: _, ...ours } = cpu();
    return ours;
  });
  const idleStreams = await idleStreamRows(stage, client, cluster.gateway.child.pid ?? 0);
  client.close();
  await cluster.stop();
  const { gateway = NaN, worker = NaN, temporal: server = NaN } = load.cpuMsPerTurn;
  const { postgres: database = NaN } = load.cpuMsPerTurn;
  const ours = [gateway + worker + server + database, gateway, worker, server, database];
  const { process: own = NaN, temporal: floorServer = NaN } = least.cpuMsPerTurn;
  const which = stage.realTemporal ? 'a real Temporal server on it' : "Temporal's dev server";
  return [
    {
      title: `PostgreSQL and ${which}, one gateway, one worker, ${threads} threads, one node, model in process`,
      columns: [
        '',
        'turns/s',
        'p50 ms',
        'p99 ms',
        'idle p50',
        'idle p99',
        'events/turn',
        'CPU ms/turn',
        'gateway',
        'worker',
        'Temporal',
        'PostgreSQL',
      ],
      rows: [
        // Its row is one of SQLite; what it costs Temporal's PostgreSQL is not counted.
        [
          'Temporal floor',
          ...times(least, leastIdle),
          ...[NaN, NaN, NaN, own, floorServer].map(figure),
          '-',
        ],
        ['one node', ...times(load, idle), ...[events, ...ours].map(figure)],
      ],
    },
    {
      title: `What that PostgreSQL did for each turn under load (${stage.realTemporal ? "Temporal's part included" : 'ours alone'})`,
      columns: ['writing transactions', 'all transactions', 'WAL'],
      rows: [[figure(work.writing), figure(work.all), kB(work.logBytes)]],
    },
    { title: 'Tokens over NOTIFY (model to client)', columns: tokenColumns, rows: tokens },
    { title: 'Many streams of 50 tokens/s, over NOTIFY', ...streams },
    { title: 'Idle streams on one gateway', ...idleStreams },
  ];
}

type Percentiles = ReturnType<typeof percentiles>;

const times = ({ perSecond, p50Ms, p99Ms }: Load, idle: Percentiles): readonly string[] =>
  [perSecond, p50Ms, p99Ms, idle.p50Ms, idle.p99Ms].map(figure);
