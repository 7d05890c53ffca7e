import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { NativeConnection } from '@temporalio/worker';
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
