/** From the model's token to the event at the client. */
import { cpuMs } from '../cpu-time.js';
import { idleLatencies, percentiles } from '../load.js';
import { fixtureEnv, startProduct } from '../product.js';
import type { HttpClient } from '../http-turns.js';
import type { Stage } from '../stage.js';
import { figure } from '../table.js';
import type { Table } from '../table.js';
import { streamRows } from './streams.js';

export async function tokenTables(stage: Stage): Promise<readonly Table[]> {
  stage.say('first tokens');
  const { address } = await stage.temporal();
  const product = await startProduct(stage, {
    ...{ name: 'token', env: fixtureEnv(stage), temporalAddress: address },
  });
  const rows = await tokenRows(stage, product.client, '<= 15 ms');
  const streams = await streamRows(stage, product.client, () => ({
    process: cpuMs(product.pid),
  }));
  await product.end();
  return [
    { title: 'Tokens, one process (model to client)', columns: tokenColumns, rows },
    { title: 'Many streams of 50 tokens/s, one process', ...streams },
  ];
}

export const tokenColumns = ['', 'p50 ms', 'p99 ms', 'budget (p50)'];

export async function tokenRows(
  stage: Stage,
  client: HttpClient,
  budget: string,
): Promise<string[][]> {
  const first: number[] = [];
  const later: number[] = [];
  const untilFirst: number[] = [];
  const turn = async (): Promise<void> => {
    const posted = clock();
    let seen = 0;
    const body = { message: 'What time is it?', graph: 'tokens' };
    await client.stream('/v1/threads/tokens-0/turns', body, (event, data) => {
      if (event !== 'token') return;
      const at = clock();
      const { text } = JSON.parse(data) as { text: string };
      for (const given of text.trim().split(' ')) {
        (seen === 0 ? first : later).push(at - Number(given));
        if (seen === 0) untilFirst.push(at - posted);
        seen += 1;
      }
    });
    if (seen === 0) throw new Error('a stream showed no token');
  };
  await idleLatencies(3, turn);
  for (const list of [first, later, untilFirst]) list.length = 0;
  await idleLatencies(stage.quick ? 5 : 60, turn);
  const row = (what: string, values: readonly number[], limit: string): string[] => {
    const { p50Ms, p99Ms } = percentiles(values);
    return [what, figure(p50Ms), figure(p99Ms), limit];
  };
  return [
    row('first token after the model gave it', first, budget),
    row('later tokens', later, ''),
    row('first token after the request', untilFirst, ''),
  ];
}

/** Comparable between processes of one machine. */
const clock = (): number => performance.timeOrigin + performance.now();
