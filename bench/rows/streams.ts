/** Many streams at once: how late tokens are, what they cost, and what a stream that says nothing weighs. */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { HttpClient } from '../http-turns.js';
import { percentiles } from '../load.js';
import type { Stage } from '../stage.js';
import { figure, type Table } from '../table.js';

type Part = Pick<Table, 'columns' | 'rows'>;
type Cpu = () => Readonly<Record<string, number>>;

/** Of 20 ms each. */
const tokensPerStream = 250;
/** While streams start together, their turns are measured, not their tokens. */
const warmUpMs = 1_500;

export async function streamRows(stage: Stage, client: HttpClient, cpu: Cpu): Promise<Part> {
  const rows: string[][] = [];
  const names = Object.keys(cpu());
  for (const count of stage.quick ? [1, 10] : [1, 100, 500]) {
    stage.say(`${count} streams`);
    rows.push(await streamsAtOnce(client, cpu, count));
  }
  const cores = names.map((name) => `${name} CPU %`);
  return { columns: ['streams', 'tokens/s', 'p50 ms', 'p99 ms', ...cores], rows };
}

async function streamsAtOnce(client: HttpClient, cpu: Cpu, count: number): Promise<string[]> {
  const delays: number[] = [];
  let measuring = false;
  const open = async (n: number): Promise<void> => {
    const body = { message: String(tokensPerStream), graph: 'tokens' };
    await client.stream(`/v1/threads/streams-${count}-${n}/turns`, body, (event, data) => {
      if (event !== 'token' || !measuring) return;
      const now = performance.timeOrigin + performance.now();
      const { text } = JSON.parse(data) as { text: string };
      for (const given of text.trim().split(' ')) delays.push(now - Number(given));
    });
  };
  const all = Promise.all(Array.from({ length: count }, (_, n) => open(n)));
  await pause(warmUpMs);
  const before = cpu();
  const began = performance.now();
  measuring = true;
  await all;
  const tookMs = performance.now() - began;
  const after = cpu();
  const { p50Ms, p99Ms } = percentiles(delays);
  const used = Object.entries(before).map(([name, ms]) => ((after[name] ?? NaN) - ms) / tookMs);
  return [
    String(count),
    figure((delays.length / tookMs) * 1_000),
    figure(p50Ms),
    figure(p99Ms),
    ...used.map((share) => figure(share * 100)),
  ];
}

/** Readers of one turn that says nothing for a minute. */
export async function idleStreamRows(
  stage: Stage,
  client: HttpClient,
  gatewayPid: number,
): Promise<Part> {
  const count = stage.quick ? 100 : 2_000;
  stage.say(`${count} idle streams`);
  const body = { message: 'wait', graph: 'slow' };
  const accepted = await client.post('/v1/threads/idle-streams/turns', body, {
    prefer: 'respond-async',
  });
  const { turn_id } = JSON.parse(accepted.body) as { turn_id: string };
  const route = `/v1/threads/idle-streams/turns/${turn_id}/stream`;
  const joinMany = async (many: number): Promise<void> => {
    for (let n = 0; n < many; n += 50)
      await Promise.all(Array.from({ length: Math.min(50, many - n) }, () => client.join(route)));
  };
  await joinMany(50);
  await pause(1_000);
  const before = residentBytes(gatewayPid);
  await joinMany(count);
  await pause(1_000);
  const grown = residentBytes(gatewayPid) - before;
  return {
    columns: ['streams', 'gateway grows by MB', 'KB per stream'],
    rows: [[String(count), figure(grown / 1e6), figure(grown / count / 1e3)]],
  };
}

const pageBytes = 4_096;
const residentBytes = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * pageBytes;
