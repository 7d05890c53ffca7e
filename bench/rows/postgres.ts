/** Gateway and worker as processes of their own on PostgreSQL. */
import { freePort } from '../../temporal/ports.js';
import { startCluster } from '../../test/support/processes.js';
import { cpuMs, treeCpuMs } from '../cpu-time.js';
import { chatTurns, httpClient } from '../http-turns.js';
import { idleLatencies, percentiles, runLoad } from '../load.js';
import { startPostgres } from '../postgres.js';
import { fixtureEnv, quietEnv } from '../product.js';
import { userMessage } from '../prose.js';
import type { Stage } from '../stage.js';
import { figure } from '../table.js';
import type { Table } from '../table.js';
import { idleStreamRows, streamRows } from './streams.js';
import { tokenColumns, tokenRows } from './token.js';

const threads = 16;

export async function postgresTables(stage: Stage): Promise<readonly Table[]> {
  const { quick, say } = stage;
  say('starting PostgreSQL, a gateway and a worker');
  const postgres = await startPostgres();
  stage.parts.add(postgres, () => postgres.stop());
  const temporal = await stage.temporal();
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
  say(`${threads} threads on PostgreSQL`);
  const plan = { threads, warmUpMs: quick ? 500 : 4_000, measureMs: quick ? 1_500 : 12_000 };
  const load = await runLoad(plan, {
    turn: chatTurns(client, { prefix: 'load', graph: 'chat' }, userMessage),
    cpu,
  });
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
  return [
    {
      title: `PostgreSQL, one gateway, one worker, ${threads} threads, one node, model in process`,
      columns: [
        'turns/s',
        'p50 ms',
        'p99 ms',
        'CPU ms/turn',
        'gateway',
        'worker',
        'Temporal',
        'PostgreSQL',
        'idle p50',
        'idle p99',
      ],
      rows: [
        [
          load.perSecond,
          load.p50Ms,
          load.p99Ms,
          gateway + worker + server + database,
          gateway,
          worker,
          server,
          database,
          idle.p50Ms,
          idle.p99Ms,
        ].map(figure),
      ],
    },
    { title: 'Tokens over NOTIFY (model to client)', columns: tokenColumns, rows: tokens },
    { title: 'Many streams of 50 tokens/s, over NOTIFY', ...streams },
    { title: 'Idle streams on one gateway', ...idleStreams },
  ];
}
