import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { NativeConnection, Worker } from '@temporalio/worker';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { tenantAttribute } from '../../contracts/protocol.js';
import {
  connectTemporal,
  connectTemporalPatiently,
  openTemporal,
} from '../../temporal/connection.js';
import { startDevServer } from '../../temporal/dev-server.js';
import type { DevServer } from '../../temporal/dev-server.js';
import { isSearchAttributeUnknown, isTemporalUnavailable } from '../../temporal/errors.js';
import { freePort } from '../../temporal/ports.js';
import { ensureSearchAttributes } from '../../temporal/search-attributes.js';
import type { TemporalSettings } from '../../temporal/settings.js';
import { startTestTemporal, testCli } from '../support/temporal-server.js';
import type { TestTemporal } from '../support/temporal-server.js';

let server: TestTemporal;
let root: string;

beforeAll(async () => {
  server = await startTestTemporal();
  root = await mkdtemp(path.join(tmpdir(), 'everthread-connection-'));
});

afterAll(async () => {
  await server.stop();
  await rm(root, { recursive: true, force: true });
});

const at = (address: string, namespace = 'default'): TemporalSettings => ({
  address,
  namespace,
  security: {},
});

/** A server on this port with a database that outlives it. */
async function startOn(port: number, searchAttributes?: string[]): Promise<DevServer> {
  return startDevServer({
    ...{ cliPath: await testCli(), port, uiPort: 0, headless: true, namespace: 'default' },
    dbFile: path.join(root, `${port}.db`),
    logFile: path.join(root, 'temporal.log'),
    searchAttributes,
  });
}

const tenantKey = defineSearchAttributeKey(tenantAttribute, SearchAttributeType.KEYWORD);

/** Numbers of the server's API. */
const integer = 3;
const activityQueue = 2;

const wake = (id: string) => ({
  workflowId: id,
  taskQueue: 'nobody',
  signal: 'turn',
  signalArgs: [{ seq: 1 }] as [{ seq: number }],
});

/** Looks until it holds; the test's own limit ends one that never does. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await pause(20);
}

describe('a connection', () => {
  test('carries worker and client on one native connection', async () => {
    const temporal = await connectTemporal(at(server.address));
    const handle = await temporal.client.workflow.signalWithStart('thread', wake('thread:one'));
    const { status } = await temporal.client.workflow.getHandle(handle.workflowId).describe();
    expect(temporal.native).toBeInstanceOf(NativeConnection);
    expect(status.name).toBe('RUNNING');
    await temporal.close();
  });

  test('to a namespace that is not there says so, and is not worth repeating', async () => {
    const error = await connectTemporal(at(server.address, 'nope')).catch((e: unknown) => e);
    expect(String(error)).toContain('has no namespace "nope"');
    expect(String(error)).toContain('TEMPORAL_NAMESPACE');
    expect(isTemporalUnavailable(error)).toBe(false);
  });

  test('to a server that is not there names the address and what to check', async () => {
    const address = `127.0.0.1:${await freePort()}`;
    const error = await connectTemporal(at(address)).catch((e: unknown) => e);
    expect(String(error)).toContain(address);
    expect(String(error)).toContain('TEMPORAL_ADDRESS');
    expect(isTemporalUnavailable(error)).toBe(true);
  });

  test('waits for a server that starts later, telling why it waits', async () => {
    const port = await freePort();
    const told: Error[] = [];
    const starting = new Promise<DevServer>((resolve, reject) => {
      const onWaiting = (reason: Error): void => {
        if (told.push(reason) === 1) startOn(port).then(resolve, reject);
      };
      connectTemporalPatiently(at(`127.0.0.1:${port}`), { onWaiting }).then((temporal) => {
        void temporal.close();
      }, reject);
    });
    const late = await starting;
    await late.stop();
    expect(told[0]?.message).toContain('No Temporal server answers');
  });

  test('stops waiting when told to', async () => {
    const stop = new AbortController();
    const waiting = connectTemporalPatiently(at(`127.0.0.1:${await freePort()}`), {
      signal: stop.signal,
      onWaiting: () => stop.abort(),
    });
    await expect(waiting).rejects.toThrow('aborted');
  });
});

describe('a link', () => {
  test('fails as unavailable while the server is down, at start or later, and heals by itself', async () => {
    const port = await freePort();
    const link = openTemporal(at(`127.0.0.1:${port}`));
    const call = (): Promise<unknown> =>
      link.call((client) => client.workflow.signalWithStart('thread', wake('thread:two')), 1_000);
    const works = (): Promise<boolean> =>
      call().then(
        () => true,
        (error: unknown) => {
          if (!isTemporalUnavailable(error)) throw error;
          return false;
        },
      );

    expect(await works()).toBe(false);
    const first = await startOn(port);
    await until(works);
    await first.stop();
    expect(await works()).toBe(false);
    const second = await startOn(port);
    await until(works);
    await link.close();
    await expect(call()).rejects.toThrow('closed');
    await second.stop();
  });

  test('gives up in time on an address that accepts and never answers', async () => {
    const held: Socket[] = [];
    const silent = createServer((socket) => held.push(socket)).listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const { port } = silent.address() as AddressInfo;
    const link = openTemporal(at(`127.0.0.1:${port}`));
    const error = await link.call(() => Promise.resolve(), 200).catch((e: unknown) => e);
    silent.close();
    for (const socket of held) socket.destroy();
    await link.close();
    expect(isTemporalUnavailable(error)).toBe(true);
  });

  test('rides on a connection that is there already, and leaves it open', async () => {
    const temporal = await connectTemporal(at(server.address));
    const link = openTemporal(at(server.address), temporal);
    await link.call((client) => client.workflow.signalWithStart('thread', wake('thread:three')));
    await link.close();
    await temporal.client.workflow.getHandle('thread:three').describe();
    await temporal.close();
  });
});

test('a worker outlives a restart of its server and polls it again', async () => {
  const port = await freePort();
  const first = await startOn(port);
  const temporal = await connectTemporal(at(`127.0.0.1:${port}`));
  const worker = await Worker.create({
    connection: temporal.native,
    taskQueue: 'busy',
    activities: { nothing: () => Promise.resolve() },
  });
  const running = worker.run();
  await first.stop();
  const second = await startOn(port);
  const restarted = Date.now();
  await until(async () => {
    const { pollers } = await temporal.native.workflowService.describeTaskQueue({
      namespace: 'default',
      taskQueue: { name: 'busy' },
      ...Object.fromEntries([['taskQueueType', activityQueue]]),
    });
    return pollers.some(
      ({ lastAccessTime }) => Number(lastAccessTime?.seconds) * 1_000 >= restarted - 1_000,
    );
  });
  expect(worker.getState()).toBe('RUNNING');
  worker.shutdown();
  await running;
  await temporal.close();
  await second.stop();
});

describe('search attributes', () => {
  test('are added to a namespace that an earlier version made without them', async () => {
    const port = await freePort();
    const old = await startOn(port, []);
    await old.stop();
    const renewed = await startOn(port);
    const temporal = await connectTemporal(at(renewed.address));
    const start = (): Promise<unknown> =>
      temporal.client.workflow.signalWithStart('thread', {
        ...wake('thread:four'),
        typedSearchAttributes: [{ key: tenantKey, value: 'default' }],
      });

    const refusal = await start().catch((e: unknown) => e);
    expect(isSearchAttributeUnknown(refusal)).toBe(true);
    expect(isTemporalUnavailable(refusal)).toBe(false);
    expect(await ensureSearchAttributes(temporal.native, 'default')).toBe(true);
    expect(await ensureSearchAttributes(temporal.native, 'default')).toBe(true);
    await start();
    await temporal.close();
    await renewed.stop();
  });

  test('of another type under our name are left alone: false', async () => {
    const temporal = await connectTemporal(at(server.address));
    const { operatorService } = temporal.native;
    await operatorService.removeSearchAttributes({
      namespace: 'default',
      searchAttributes: ['EverthreadGraph'],
    });
    await operatorService.addSearchAttributes({
      namespace: 'default',
      searchAttributes: Object.fromEntries([['EverthreadGraph', integer]]),
    });
    expect(await ensureSearchAttributes(temporal.native, 'default')).toBe(false);
    await temporal.close();
  });
});
