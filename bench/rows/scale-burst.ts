/** More threads at once than a worker keeps workflows of: what it costs that they are replayed. */
import { cpuMs } from '../cpu-time.js';
import { chatTurns } from '../http-turns.js';
import { percentiles } from '../load.js';
import { fixtureEnv, startProduct } from '../product.js';
import { userMessage } from '../prose.js';
import type { Stage } from '../stage.js';
import { figure } from '../table.js';
import type { Table } from '../table.js';

const threads = 200;
const cachedThreads = [500, 20];

export async function burstTable(stage: Stage): Promise<Table> {
  const turnsEach = stage.quick ? 1 : 10;
  const temporal = await stage.temporal();
  const rows: string[][] = [];
  for (const cached of cachedThreads) {
    stage.say(`${threads} threads at once, ${cached} cached`);
    const name = `burst-${cached}`;
    const env = { ...fixtureEnv(stage), EVERTHREAD_CACHED_THREADS: String(cached) };
    const product = await startProduct(stage, { name, env, temporalAddress: temporal.address });
    const turn = chatTurns(product.client, { prefix: name, graph: 'chat' }, userMessage);
    const latencies: number[] = [];
    const timed = async (thread: number): Promise<void> => {
      const started = performance.now();
      await turn(thread);
      latencies.push(performance.now() - started);
    };
    const cpu = (): number => cpuMs(product.pid) + cpuMs(temporal.pid);
    const [started, before] = [performance.now(), cpu()];
    await Promise.all(
      Array.from({ length: threads }, async (_, thread) => {
        for (let n = 0; n < turnsEach; n += 1) await timed(thread);
      }),
    );
    const [ms, spent] = [performance.now() - started, cpu() - before];
    const { p50Ms, p99Ms } = percentiles(latencies);
    const turns = latencies.length;
    rows.push([
      String(cached),
      ...[turns, (turns * 1_000) / ms, p50Ms, p99Ms, spent / turns].map(figure),
    ]);
    await product.end();
  }
  return {
    title: `${threads} threads at once, each ${turnsEach} turns one after the other, by workflows that the worker keeps in memory`,
    columns: ['cached', 'turns committed', 'turns/s', 'p50 ms', 'p99 ms', 'CPU ms/turn'],
    rows,
  };
}
