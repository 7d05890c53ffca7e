/** The same load on one, two and four workers: what a turn costs each process, and what it asks of PostgreSQL. */
import { freePort } from '../../temporal/ports.js';
import { startCluster } from '../../test/support/processes.js';
import { cpuMs, treeCpuMs } from '../cpu-time.js';
import { eventsPerTurn } from '../history-events.js';
import { chatTurns, httpClient } from '../http-turns.js';
import { runLoad, warmUp } from '../load.js';
import { startPostgres } from '../postgres.js';
import { postgresWork, workSince } from '../postgres-work.js';
import { fixtureEnv, quietEnv } from '../product.js';
import { userMessage } from '../prose.js';
import type { Stage } from '../stage.js';
import { figure, kB } from '../table.js';
import type { Table } from '../table.js';

const workerCounts = [1, 2, 4];
const threads = 32;

export async function workersTable(stage: Stage): Promise<Table> {
  const { quick, say } = stage;
  const postgres = await startPostgres();
  stage.parts.add(postgres, () => postgres.stop());
  const temporal = await stage.temporal();
  const postgresUrl = `${postgres.url}/postgres`;
  const plan = { threads, warmUpMs: quick ? 500 : 4_000, measureMs: quick ? 1_500 : 12_000 };
  const rows: string[][] = [];
  for (const workers of workerCounts) {
    say(`${workers} workers, ${threads} threads`);
    const cluster = await startCluster({
      ...{ port: await freePort(), workers, postgresUrl, temporalAddress: temporal.address },
      env: { ...quietEnv, ...fixtureEnv(stage), EVERTHREAD_TASK_QUEUE: `bench-workers-${workers}` },
    });
    stage.parts.add(cluster, () => cluster.stop());
    const client = httpClient(cluster.url);
    const pids = cluster.workers.map(({ child }) => child.pid ?? 0);
    const gateway = cluster.gateway.child.pid ?? 0;
    const chat = chatTurns(client, { prefix: `w${workers}`, graph: 'chat' }, userMessage);
    const cpu = () => ({
      gateway: cpuMs(gateway),
      workers: pids.reduce((sum, pid) => sum + cpuMs(pid), 0),
      temporal: cpuMs(temporal.pid),
      postgres: treeCpuMs(postgres.pid),
    });
    await warmUp(stage, { turn: chat, cpu }, workers);
    let turns = 0;
    const before = await postgresWork(postgresUrl);
    const load = await runLoad(plan, {
      turn: (thread) => chat(thread).then(() => void (turns += 1)),
      cpu,
    });
    const work = workSince(before, await postgresWork(postgresUrl), turns);
    const some = Array.from({ length: 8 }, (_, n) => `w${workers}-${n}`);
    const events = await eventsPerTurn(temporal.address, client, some);
    client.close();
    await cluster.stop();
    const spent = load.cpuMsPerTurn;
    rows.push([
      String(workers),
      ...[
        load.perSecond,
        load.p50Ms,
        spent.gateway,
        spent.workers,
        spent.temporal,
        spent.postgres,
      ].map(figure),
      ...[events, work.writing, work.all].map(figure),
      kB(work.logBytes),
    ]);
  }
  return {
    title: `One gateway and so many workers on PostgreSQL, Temporal's dev server, ${threads} threads, one node, model in process (CPU in ms a turn)`,
    columns: [
      'workers',
      'turns/s',
      'p50 ms',
      'gateway',
      'workers',
      'Temporal',
      'PostgreSQL',
      'events/turn',
      'writing transactions/turn',
      'all transactions/turn',
      'WAL/turn',
    ],
    rows,
  };
}
