import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connectTemporal } from '../../temporal/connection.js';
import { readRecord } from '../../temporal/dev-server-record.js';
import type { DevServerRecord } from '../../temporal/dev-server-record.js';
import { keepDevServer } from '../../temporal/dev-server-keeper.js';
import { startDevServer } from '../../temporal/dev-server.js';
import type { DevServer } from '../../temporal/dev-server.js';
import { DevServerError } from '../../temporal/dev-server-error.js';
import { freePort } from '../../temporal/ports.js';
import { processIdentity } from '../../temporal/process-identity.js';
import type { DevServerSettings } from '../../temporal/settings.js';
import { testCli } from '../support/temporal-server.js';

let root: string;
let cliPath: string;
const servers: DevServer[] = [];
const children: ChildProcess[] = [];

beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'everthread-dev-server-'));
  cliPath = await testCli();
});

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

afterAll(() => rm(root, { recursive: true, force: true }));

/** Settings with a database in a folder of its own and free ports. */
async function dataFolder(change: Partial<DevServerSettings> = {}): Promise<DevServerSettings> {
  const folder = await mkdtemp(path.join(root, 'data-'));
  const dbFile = path.join(folder, 'temporal.db');
  const logFile = path.join(folder, 'temporal.log');
  const ports = { port: 0, uiPort: 0, headless: true };
  return { cliPath, ...ports, dbFile, logFile, namespace: 'default', ...change };
}

async function start(settings: DevServerSettings): Promise<DevServer> {
  const server = await startDevServer(settings);
  servers.push(server);
  return server;
}

/** Starts the server from a process of its own, and kills that one as `kill -9` does: an orphan stays. */
async function orphan(settings: DevServerSettings): Promise<{ pid: number; port: number }> {
  const { started, owner } = await startElsewhere(settings);
  owner.kill('SIGKILL');
  await once(owner, 'exit');
  return started;
}

async function startElsewhere(settings: DevServerSettings) {
  const code = `
    const { startDevServer } = await import(process.argv[1]);
    const { pid, address } = await startDevServer(JSON.parse(process.argv[2]));
    console.log(JSON.stringify({ pid, port: Number(address.split(':')[1]) }));
    setInterval(() => undefined, 1_000_000);`;
  const module = path.resolve('dist/temporal/dev-server.js');
  const args = ['--input-type=module', '-e', code, module, JSON.stringify(settings)];
  const owner = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(owner);
  const [line] = (await once(owner.stdout, 'data')) as [Buffer];
  return { owner, started: JSON.parse(line.toString()) as { pid: number; port: number } };
}

const isRunning = (pid: number): boolean => processIdentity(pid) !== undefined;
const pidFileOf = (settings: DevServerSettings): string => `${settings.dbFile ?? ''}.pid`;

describe('a dev server of ours', () => {
  test('answers when started, is in a process group of its own, and is gone when stopped', async () => {
    const settings = await dataFolder();
    const server = await start(settings);
    const { close } = await connectTemporal({ ...server, namespace: 'default', security: {} });
    await close();
    const stat = await readFile(`/proc/${server.pid}/stat`, 'utf8').catch(() => undefined);
    if (stat !== undefined) expect(stat.split(') ')[1]?.split(' ')[2]).toBe(String(server.pid));

    await server.stop();
    await server.stop();
    expect(isRunning(server.pid)).toBe(false);
    await expect(access(pidFileOf(settings))).rejects.toThrow('ENOENT');
  });

  test('keeps workflows, and the namespace asked for, over a stop and a start', async () => {
    const settings = await dataFolder({ namespace: 'team' });
    const first = await start(settings);
    const before = await connectTemporal({ ...first, namespace: 'team', security: {} });
    await before.client.workflow.start('thread', { workflowId: 'thread:a', taskQueue: 'q' });
    await before.close();
    await first.stop();
    const second = await start(settings);
    const after = await connectTemporal({ ...second, namespace: 'team', security: {} });
    const { status } = await after.client.workflow.getHandle('thread:a').describe();
    await after.close();
    expect(status.name).toBe('RUNNING');
  });

  test('has a Web UI where it says', async () => {
    const server = await start({ ...(await dataFolder({ headless: false })), dbFile: undefined });
    const answer = await fetch(server.uiUrl ?? '');
    expect(answer.status).toBe(200);
  });

  test('that dies is reported once, with the signal', async () => {
    const reason = await new Promise<string>((resolve, reject) => {
      dataFolder({ onExit: resolve }).then(async (settings) => {
        process.kill((await start(settings)).pid, 'SIGKILL');
      }, reject);
    });
    expect(reason).toContain('SIGKILL');
  });
});

describe('a kept dev server', () => {
  test('that dies is started again on the same port, with its threads', async () => {
    const settings = await dataFolder();
    const pids: number[] = [];
    const restarted = new Promise<void>((resolve, reject) => {
      const onRestart = (pid: number): void => {
        pids.push(pid);
        resolve();
      };
      keepDevServer(settings, { onRestart, onFailure: reject }).then((kept) => {
        servers.push(kept);
        process.kill(kept.pid, 'SIGKILL');
      }, reject);
    });
    await restarted;
    const [kept] = servers as [DevServer];
    const { close } = await connectTemporal({ ...kept, namespace: 'default', security: {} });
    await close();
    await kept.stop();
    expect(pids.filter(isRunning)).toEqual([]);
  });

  test('that was adopted and dies is started again too', async () => {
    const settings = await dataFolder();
    await orphan(settings);
    await new Promise<void>((resolve, reject) => {
      keepDevServer(settings, { onRestart: () => resolve(), onFailure: reject }).then((kept) => {
        servers.push(kept);
        expect(kept.adopted).toBe(true);
        process.kill(kept.pid, 'SIGKILL');
      }, reject);
    });
  });
});

describe('a server that cannot start', () => {
  test.each(['port', 'uiPort'] as const)('because its %s is taken', async (which) => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const settings = await dataFolder({ [which]: port, headless: false });
    const error = await start(settings).catch((e: unknown) => e);
    taken.close();
    expect(error).toBeInstanceOf(DevServerError);
    const setting = which === 'port' ? 'EVERTHREAD_TEMPORAL_PORT' : 'EVERTHREAD_TEMPORAL_UI_PORT';
    expect(String(error)).toContain(`Port ${port} is in use`);
    expect(String(error)).toContain(`Set ${setting}`);
  });

  test('because it ends at once: the error quotes its log', async () => {
    const broken = path.join(root, 'broken');
    await writeFile(broken, '#!/bin/sh\necho "disk is full" >&2\nexit 3\n', { mode: 0o755 });
    const error = await start(await dataFolder({ cliPath: broken })).catch((e: unknown) => e);
    expect(String(error)).toMatch(/ended with code 3[\s\S]*disk is full/);
  });

  test('because the CLI is gone: the error says that', async () => {
    const settings = await dataFolder({ cliPath: path.join(root, 'gone') });
    await expect(start(settings)).rejects.toThrow('ENOENT');
  });

  test('because its database is not one: the error quotes its log', async () => {
    const settings = await dataFolder();
    await writeFile(settings.dbFile ?? '', 'not a database, for sure'.repeat(100));
    await expect(start(settings)).rejects.toThrow(/did not start[\s\S]*not a database/);
  });
});

describe('an orphan, after a kill -9 of the process that started it', () => {
  test('is used again with its port and threads, and ends with us', async () => {
    const settings = await dataFolder();
    const left = await orphan(settings);
    expect(isRunning(left.pid)).toBe(true);
    const server = await start(settings);
    expect(server).toMatchObject({
      pid: left.pid,
      adopted: true,
      address: `127.0.0.1:${left.port}`,
    });
    await server.stop();
    expect(isRunning(left.pid)).toBe(false);
    await expect(access(pidFileOf(settings))).rejects.toThrow('ENOENT');
  });

  test('on another port than the one wished is ended, and a new one has its threads', async () => {
    const settings = await dataFolder();
    const left = await orphan(settings);
    const port = await freePort();
    const server = await start({ ...settings, port });
    expect(server).toMatchObject({ adopted: false, address: `127.0.0.1:${port}` });
    expect(isRunning(left.pid)).toBe(false);
  });

  test('that does not answer is ended', async () => {
    const settings = await dataFolder();
    const left = await orphan(settings);
    const record = JSON.parse(await readFile(pidFileOf(settings), 'utf8')) as DevServerRecord;
    const deaf = { ...record, port: await freePort() };
    await writeFile(pidFileOf(settings), JSON.stringify(deaf));
    expect((await start(settings)).adopted).toBe(false);
    expect(isRunning(left.pid)).toBe(false);
  });

  test('with its threads in memory is ended: they belong to a store that died', async () => {
    const pidFile = path.join(root, 'memory.pid');
    const settings = { ...(await dataFolder()), dbFile: undefined, pidFile };
    const left = await orphan(settings);
    expect((await start(settings)).adopted).toBe(false);
    expect(isRunning(left.pid)).toBe(false);
  });
});

describe('a process that is not ours to end', () => {
  test('a server whose owner still runs is refused, and both go on', async () => {
    const settings = await dataFolder();
    const { owner, started } = await startElsewhere(settings);
    await expect(start(settings)).rejects.toThrow(`belongs to process ${owner.pid ?? 0}`);
    expect(isRunning(started.pid)).toBe(true);
    expect(isRunning(owner.pid ?? 0)).toBe(true);
    process.kill(started.pid, 'SIGTERM');
  });

  test('another process that got the pid since is left alone', async () => {
    const settings = await dataFolder();
    const left = await orphan(settings);
    process.kill(left.pid, 'SIGKILL');
    const stranger = spawn('sleep', ['1000']);
    children.push(stranger);
    const record = JSON.parse(await readFile(pidFileOf(settings), 'utf8')) as DevServerRecord;
    const reused = { ...record, server: { ...record.server, pid: stranger.pid } };
    await writeFile(pidFileOf(settings), JSON.stringify(reused));
    const server = await start(settings);
    expect(server.adopted).toBe(false);
    expect(isRunning(stranger.pid ?? 0)).toBe(true);
  });

  test.each(['', '{"pid": 1}', 'null'])(
    'a pid file that says %j is as good as none',
    async (text) => {
      const pidFile = path.join(await mkdtemp(path.join(root, 'pid-')), 'temporal.pid');
      await writeFile(pidFile, text);
      expect(readRecord(pidFile)).toEqual({ kind: 'none' });
    },
  );
});
