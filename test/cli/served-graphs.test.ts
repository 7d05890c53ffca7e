import { afterEach, expect, test } from '@jest/globals';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { setImmediate as nextRound } from 'node:timers/promises';
import path from 'node:path';
import { pino } from 'pino';
import { resolveConfig } from '../../config/config.js';
import { loadGraphs } from '../../worker/graphs.js';

const root = process.cwd();
const cluster = {
  EVERTHREAD_STORAGE: 'postgres',
  EVERTHREAD_POSTGRES_URL: 'postgresql://x@127.0.0.1/x',
  TEMPORAL_ADDRESS: '127.0.0.1:7233',
};
// A project is served from its own folder.
afterEach(() => process.chdir(root));

test.each([
  ['the shipped graphs', null],
  ['a project', path.resolve('examples/parcel-bot/langgraph.json')],
])('a database that does not open is no promise that %s forgot', async (_, graphConfig) => {
  const forgotten: unknown[] = [];
  const note = (reason: unknown): void => void forgotten.push(reason);
  process.on('unhandledRejection', note);
  const config = { ...resolveConfig({}, { command: 'dev' }), graphConfig };
  const memory = Promise.reject(new Error('the database does not open'));
  const log = pino({ level: 'silent' });
  await loadGraphs(config, { log, memory }).catch(() => undefined);
  await nextRound();
  process.off('unhandledRejection', note);
  expect(forgotten).toEqual([]);
});

test('Q2 a worker loads the graphs of its queues only, and refuses a queue that no graph lives on', async () => {
  await mkdir('.cache', { recursive: true });
  const folder = await mkdtemp(path.resolve('.cache/queues-'));
  const file = path.join(folder, 'langgraph.json');
  const graph = path.resolve('test/fixtures/projects/misbehaving/graphs.mjs');
  const graphs = { near: `${graph}:fine`, far: { path: `${graph}:fine`, task_queue: 'gpu' } };
  try {
    await writeFile(file, JSON.stringify({ graphs }));
    const deps = { log: pino({ level: 'silent' }), memory: new Promise<never>(() => undefined) };
    const loadedBy = async (queues: string) => {
      const env = { EVERTHREAD_CONFIG: file, EVERTHREAD_WORKER_QUEUES: queues, ...cluster };
      return await loadGraphs(resolveConfig(env, { command: 'worker' }), deps);
    };
    expect([...(await loadedBy('main')).graphs.keys()]).toEqual(['near']);
    expect([...(await loadedBy('gpu')).graphs.keys()]).toEqual(['far']);
    expect((await loadedBy('all')).queues).toEqual(['main', 'gpu']);
    await expect(loadedBy('tpu')).rejects.toThrow('tpu');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
