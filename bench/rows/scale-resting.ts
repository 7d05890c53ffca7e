/** Threads that are touched once and then rest: what each costs while it is open, and after it sleeps. */
import { readFileSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { connectTemporal } from '../../temporal/connection.js';
import { installRuntime } from '../../temporal/runtime.js';
import { until } from '../../test/support/until.js';
import { chatTurns } from '../http-turns.js';
import { fixtureEnv, startProduct } from '../product.js';
import type { Product } from '../product.js';
import { userMessage } from '../prose.js';
import type { Stage } from '../stage.js';
import type { Table } from '../table.js';
import { openSqlite } from '../../storage/sqlite-library.js';

/** Touched until there are so many, or until this time is over: a slow machine has fewer. */
const wantedThreads = 10_000;
const limitMs = 8 * 60_000;
const atOnce = 32;
/** Longer than a turn takes under this load. */
const idle = '20s';

interface Standing {
  readonly openWorkflows: number;
  readonly productMb: number;
  /** What its main thread's heap holds when garbage has just been collected. */
  readonly heapMb: number;
  readonly temporalMb: number;
  readonly storeBytes: number;
  readonly temporalBytes: number;
}

export async function restingTable(stage: Stage): Promise<Table> {
  const temporal = await stage.temporal();
  const heap = path.join(stage.folder('heap'), 'bytes');
  const env = {
    ...fixtureEnv(stage),
    EVERTHREAD_THREAD_IDLE: idle,
    NODE_OPTIONS: `--expose-gc --require ${path.resolve('bench/fixtures/heap.cjs')}`,
    BENCH_HEAP: heap,
  };
  const product = await startProduct(stage, {
    ...{ name: 'resting', env, temporalAddress: temporal.address },
  });
  installRuntime(() => undefined);
  const connection = await connectTemporal({
    ...{ address: temporal.address, namespace: 'default', security: {} },
  });
  stage.parts.add(connection, () => connection.close());
  const turn = chatTurns(product.client, { prefix: 'rest', graph: 'chat' }, userMessage);
  const openWorkflows = async (): Promise<number> => {
    const query = `ExecutionStatus = 'Running' AND WorkflowId STARTS_WITH 'thread:default:rest-'`;
    return (await connection.client.workflow.count(query)).count;
  };
  const standing = async (): Promise<Standing> => ({
    openWorkflows: await openWorkflows(),
    heapMb: await heapMb(product.pid, heap),
    productMb: residentMb(product.pid),
    temporalMb: residentMb(temporal.pid),
    storeBytes: storeBytes(product),
    temporalBytes: withLog(temporal.dbFile),
  });
  // Whatever is made once, whoever comes first.
  for (let n = 0; n < atOnce; n += 1) await turn(n);
  const before = await standing();
  const touched = await touch(stage, turn);
  const after = await standing();
  stage.say(`${touched} threads touched, ${after.openWorkflows} open; waiting for them to sleep`);
  const asleep = async (): Promise<true | undefined> =>
    (await openWorkflows()) === 0 ? true : undefined;
  await until('all threads to sleep', asleep, 5 * 60_000);
  const slept = await standing();
  await product.end();
  const row = (name: string, s: Standing): string[] => [
    name,
    String(s.openWorkflows),
    s.productMb.toFixed(0),
    s.heapMb.toFixed(0),
    s.temporalMb.toFixed(0),
    ((s.storeBytes - before.storeBytes) / touched).toFixed(0),
    ((s.temporalBytes - before.temporalBytes) / touched).toFixed(0),
  ];
  return {
    title: `${touched} threads touched once (${atOnce} at a time, EVERTHREAD_THREAD_IDLE=${idle}), then left alone`,
    columns: [
      '',
      'open workflows',
      'product MB',
      'its heap MB',
      'Temporal MB',
      "store's bytes/thread",
      "Temporal's bytes/thread",
    ],
    rows: [row('before', before), row('all touched', after), row('asleep', slept)],
  };
}

async function touch(stage: Stage, turn: (thread: number) => Promise<void>): Promise<number> {
  const wanted = stage.quick ? 64 : wantedThreads;
  const end = Date.now() + limitMs;
  let next = atOnce;
  const one = async (): Promise<void> => {
    while (next < wanted + atOnce && Date.now() < end) {
      if (next % 1_000 === 0) stage.say(`${next} threads touched`);
      await turn(next++);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  return next - atOnce;
}

/** The kernel's count of what is in memory; not a number where there is no /proc. */
function residentMb(pid: number): number {
  try {
    const kb = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(kb) / 1_000;
  } catch {
    return NaN;
  }
}

/** See fixtures/heap.cjs. */
async function heapMb(pid: number, file: string): Promise<number> {
  rmSync(file, { force: true });
  process.kill(pid, 'SIGUSR2');
  const bytes = await until('the heap to be measured', () => {
    const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    return size > 0 ? Number(readFileSync(file, 'utf8')) : undefined;
  });
  return bytes / 1_000_000;
}

/** Pages in use, the log's among them. */
function storeBytes({ dataFolder }: Product): number {
  const db = openSqlite(path.join(dataFolder, 'everthread.db'), { readonly: true });
  try {
    const pages = Number(db.pragma('page_count', { simple: true }));
    return pages * Number(db.pragma('page_size', { simple: true }));
  } finally {
    db.close();
  }
}

const withLog = (file: string): number =>
  statSync(file).size + (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0);
