import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { NativeConnection } from '@temporalio/worker';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { activityQueue } from '../../temporal/queue-types.js';
import { searchAttributeNames } from '../../temporal/settings.js';
import { setUpTemporal } from '../../temporal/set-up.js';
import { freePort } from '../../temporal/ports.js';
import { startTestTemporal } from '../support/temporal-server.js';
import type { TestTemporal } from '../support/temporal-server.js';
import { runCli } from './run-cli.js';

let server: TestTemporal;
let connection: NativeConnection;
beforeAll(async () => {
  server = await startTestTemporal();
  connection = await NativeConnection.connect({ address: server.address });
});
afterAll(async () => {
  await connection.close();
  await server.stop();
});

const daySeconds = 86_400;
const retentionSeconds = async (namespace: string): Promise<number> => {
  const { config } = await connection.workflowService.describeNamespace({ namespace });
  return Number(config?.workflowExecutionRetentionTtl?.seconds);
};
const attributes = async (namespace: string): Promise<readonly string[]> => {
  const listed = await connection.operatorService.listSearchAttributes({ namespace });
  return Object.keys(listed.customAttributes);
};
const setup = (namespace: string, ...args: string[]) =>
  runCli(['setup', ...args], {
    env: { TEMPORAL_ADDRESS: server.address, TEMPORAL_NAMESPACE: namespace },
  });

describe('everthread setup', () => {
  test('O8 twice at once and once more: one namespace with its retention and search attributes', async () => {
    const [one, other] = await Promise.all([
      setup('fresh', '--retention', '2d'),
      setup('fresh', '--retention', '2d'),
    ]);
    expect([one.code, other.code]).toEqual([0, 0]);
    expect(await retentionSeconds('fresh')).toBe(2 * daySeconds);
    expect(await attributes('fresh')).toEqual(expect.arrayContaining([...searchAttributeNames]));

    const again = await setup('fresh');
    expect(again).toMatchObject({ code: 0, stderr: '' });
    expect(again.stdout).toContain('there already, retention 2 days');
    expect(await retentionSeconds('fresh')).toBe(2 * daySeconds);

    expect((await setup('fresh', '--retention', '5d')).stdout).toContain('retention changed');
    expect(await retentionSeconds('fresh')).toBe(5 * daySeconds);
  });

  test('Q4 Q5 a queue keeps its rate and the weights of tenants at the server; none takes them away', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'everthread-setup-'));
    const file = path.join(folder, 'langgraph.json');
    const graphs = { near: './a.ts:graph', far: { path: './a.ts:graph', task_queue: 'gpu' } };
    await writeFile(file, JSON.stringify({ graphs }));
    const env = { TEMPORAL_ADDRESS: server.address, EVERTHREAD_CONFIG: file };
    const set = (...args: string[]) => runCli(['setup', ...args], { env });
    const configOf = async (name: string) => {
      const described = await connection.workflowService.describeTaskQueue({
        ...{ namespace: 'default', taskQueue: { name } },
        taskQueueType: activityQueue,
        reportConfig: true,
      });
      return described.config;
    };
    const done = await set('--queue-rate', 'gpu=5', '--tenant-weight', 'acme=3');
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(done.stdout).toContain('task queue everthread.gpu: at most 5 turns a second');
    const gpu = await configOf('everthread.gpu');
    expect(gpu?.queueRateLimit?.rateLimit?.requestsPerSecond).toBe(5);
    expect(gpu?.fairnessWeightOverrides).toEqual({ acme: 3 });
    expect((await configOf('everthread'))?.fairnessWeightOverrides).toEqual({ acme: 3 });

    await set('--queue-rate', 'gpu=none', '--tenant-weight', 'acme=none');
    const unset = await configOf('everthread.gpu');
    expect(unset?.queueRateLimit?.rateLimit ?? null).toBeNull();
    expect(unset?.fairnessWeightOverrides).toEqual({});

    expect((await set('--queue-rate', 'main=5')).stderr).toContain('"task_queue" of its own');
    expect((await set('--queue-rate', 'cpu=5')).stderr).toContain('Task queues there: gpu');
    expect((await set('--queue-rate', 'gpu=0')).stderr).toContain('Allowed: gpu=5');
    await rm(folder, { recursive: true });
  });

  test('wrong calls say what to do', async () => {
    const without = await runCli(['setup']);
    expect(without).toMatchObject({ code: 1 });
    expect(without.stderr).toContain('TEMPORAL_ADDRESS');
    const wrong = await setup('fresh', '--retention', '3');
    expect(wrong).toMatchObject({ code: 1 });
    expect(wrong.stderr).toContain('--retention is "3"');
  });

  test('a server that never comes ends the waiting with its address', async () => {
    const address = `127.0.0.1:${await freePort()}`;
    const waits: string[] = [];
    const late = setUpTemporal(
      { address, namespace: 'x', security: {} },
      { retentionMs: undefined, patienceMs: 1_000, onWaiting: (why) => waits.push(why.message) },
    );
    await expect(late).rejects.toThrow(address);
    expect(waits.length).toBeGreaterThan(0);
  });
});
