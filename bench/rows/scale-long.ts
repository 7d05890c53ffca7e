/** One thread of 5,000 turns. */
import { chatTurns } from '../http-turns.js';
import { fixtureEnv, startProduct } from '../product.js';
import { userMessage } from '../prose.js';
import type { Stage } from '../stage.js';
import { figure, kB, ms } from '../table.js';
import type { Table } from '../table.js';
import { type Turn, windowOf, windowTurns } from './growth.js';

export async function longTable(stage: Stage): Promise<Table> {
  const { quick, say } = stage;
  const { address } = await stage.temporal();
  const product = await startProduct(stage, {
    ...{ name: 'long', env: fixtureEnv(stage), temporalAddress: address },
  });
  const chat = chatTurns(product.client, { prefix: 'long', graph: 'chat' }, userMessage);
  const turn: Turn = () => chat(0);
  const rows: string[][] = [];
  let done = 0;
  for (const wanted of quick ? [10, 60] : [10, 1_000, 5_000]) {
    const before = wanted - windowTurns / 2;
    say(`one thread up to turn ${wanted}`);
    for (; done < before; done += 1) await turn();
    const window = await windowOf(product, 'long-0', turn, before);
    done += windowTurns;
    const { latencyMs, loggedBytes, rowBytes, commits } = window;
    rows.push([`turn ${wanted}`, ms(latencyMs), kB(loggedBytes), kB(rowBytes), figure(commits)]);
  }
  await product.end();
  return {
    title: 'One thread, one node, model in process',
    columns: ['', 'latency from idle, p50', 'written to the log', 'its rows', 'transactions'],
    rows,
  };
}
