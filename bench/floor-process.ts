/**
 * The floors in a process of their own, so that their CPU can be counted: minimal workflows on Temporal, and an express
 * route that commits one row. Does what its parent asks over IPC.
 */
import { bundleWorkflowCode, DefaultLogger, Worker } from '@temporalio/worker';
import express from 'express';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { connectTemporal } from '../temporal/connection.js';
import { installRuntime } from '../temporal/runtime.js';
import { cpuMs } from './cpu-time.js';
import { idleLatencies, percentiles, runLoad } from './load.js';
import type { Load, LoadPlan } from './load.js';
import { openSqlite } from '../storage/sqlite-library.js';

export type FloorOrder =
  | { readonly kind: 'load'; readonly plan: LoadPlan }
  | { readonly kind: 'idle'; readonly count: number };
export type FloorReport =
  | { readonly kind: 'ready'; readonly expressUrl: string }
  | { readonly kind: 'load'; readonly load: Load }
  | { readonly kind: 'idle'; readonly p50Ms: number; readonly p99Ms: number }
  | { readonly kind: 'failed'; readonly message: string };

const [address = '', temporalPid = '', folder = ''] = process.argv.slice(2);
const taskQueue = 'bench-floor';
const report = (message: FloorReport): void => void process.send?.(message);

/** As the product opens its database: an acknowledged row survives a power cut. */
const db = openSqlite(path.join(folder, 'floor.db'));
db.pragma('page_size = 1024');
db.pragma('journal_mode = WAL');
db.pragma('synchronous = FULL');
db.exec('CREATE TABLE turns (n INTEGER PRIMARY KEY, thread TEXT NOT NULL, at INTEGER NOT NULL)');
const insert = db.prepare('INSERT INTO turns (thread, at) VALUES (?, ?)');

/** Who waits for a thread's row. */
const waiting = new Map<string, () => void>();
const oneRow = async (thread: string): Promise<void> => {
  insert.run(thread, Date.now());
  waiting.get(thread)?.();
};

installRuntime(() => undefined);
const connection = await connectTemporal({ address, namespace: 'default', security: {} });
const worker = await Worker.create({
  connection: connection.native,
  namespace: 'default',
  taskQueue,
  workflowBundle: await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('./floor-workflow.ts', import.meta.url)),
    logger: new DefaultLogger('WARN'),
  }),
  activities: { oneRow },
  // The product's own limits.
  maxConcurrentActivityTaskExecutions: 200,
  maxCachedWorkflows: 500,
});
const done = worker.run();

async function turn(run: string, thread: number): Promise<void> {
  const workflowId = `floor-${run}-${thread}`;
  const committed = new Promise<void>((resolve) => waiting.set(workflowId, resolve));
  await connection.client.workflow.signalWithStart('floor', {
    ...{ taskQueue, workflowId, args: [], signal: 'turn', signalArgs: [] },
  });
  await committed;
}

const app = express();
app.post('/turn', express.json(), (request, response) => {
  insert.run(JSON.stringify(request.body), Date.now());
  response.json({ status: 'committed' });
});
const server = await new Promise<Server>((resolve) => {
  const listening = app.listen(0, '127.0.0.1', () => resolve(listening));
});

let runs = 0;
async function obey(order: FloorOrder): Promise<FloorReport> {
  const run = String((runs += 1));
  switch (order.kind) {
    case 'load': {
      const cpu = () => ({ process: cpuMs(process.pid), temporal: cpuMs(Number(temporalPid)) });
      const load = await runLoad(order.plan, { turn: (thread) => turn(run, thread), cpu });
      return { kind: 'load', load };
    }
    case 'idle':
      await idleLatencies(3, () => turn(run, 0)); // the first one starts the workflow
      return { kind: 'idle', ...percentiles(await idleLatencies(order.count, () => turn(run, 0))) };
  }
}

process.on('message', (order: FloorOrder) => {
  obey(order).then(report, (error: unknown) => report({ kind: 'failed', message: String(error) }));
});
/** The parent has gone or wants the end. */
process.once('disconnect', () => {
  server.close();
  server.closeAllConnections();
  worker.shutdown();
  void done.then(() => connection.close()).then(() => process.exit());
});
report({
  kind: 'ready',
  expressUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
});
