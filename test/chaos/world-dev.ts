/** `everthread dev`: gateway, worker and SQLite in one process, with the Temporal dev server as its child. */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../temporal/ports.js';
import { everthread } from '../support/processes.js';
import { until } from '../support/until.js';
import { lookInto } from './look-into.js';
import type { JournaledModel } from './model.js';
import { noteChanges, type Sql } from './read-store.js';
import {
  hasCommand,
  keep,
  modelEnv,
  runCommand,
  type FaultKind,
  type World,
  type WorldOptions,
} from './world.js';

const kinds: readonly FaultKind[] = ['process-kill', 'process-pause', 'temporal-restart'];

export async function devWorld(model: JournaledModel, options: WorldOptions): Promise<World> {
  const folder = await mkdtemp(path.join(tmpdir(), 'everthread-chaos-'));
  const [port, temporalPort, uiPort] = [await freePort(), await freePort(), await freePort()];
  const env = {
    ...modelEnv(model),
    EVERTHREAD_DATA: folder,
    EVERTHREAD_STORAGE: 'sqlite',
    PORT: String(port),
    EVERTHREAD_TEMPORAL_PORT: String(temporalPort),
    EVERTHREAD_TEMPORAL_UI_PORT: String(uiPort),
    ...options.env,
  };
  const migrated = await runCommand(['migrate'], env, options.bin);
  if (migrated.code !== 0) throw new Error(`migrate failed: ${migrated.output}`);
  const look = <T>(work: (sql: Sql) => Promise<T>): Promise<T> =>
    lookInto({ kind: 'sqlite', path: path.join(folder, 'everthread.db') }, work);
  await look(noteChanges);

  const deaths: string[] = [];
  const dev = keep('everthread dev', deaths, () => everthread(['dev'], env, [], options.bin));
  const url = `http://127.0.0.1:${port}`;
  const heal = async (): Promise<void> => {
    if (dev.paused) dev.resume();
    await until(`${url} to be ready`, async () => {
      if (!dev.proc.alive()) dev.start();
      const answer = await fetch(`${url}/readyz`).catch(() => undefined);
      return answer?.ok === true ? true : undefined;
    });
  };
  const stop = async (): Promise<void> => {
    // A clean end takes the Temporal server along.
    await heal().catch(() => undefined);
    await dev.end();
    await rm(folder, { recursive: true, force: true });
  };
  const world: World = {
    ...{ storage: 'sqlite', model, gateways: [url], kinds, deaths, heal, look, stop },
    temporalAddress: `127.0.0.1:${temporalPort}`,
    async apply(fault) {
      switch (fault.kind) {
        case 'process-kill':
          await dev.kill();
          await pause(fault.lengthMs);
          dev.start();
          return;
        case 'process-pause':
          dev.pause();
          await pause(fault.lengthMs);
          if (dev.paused) dev.resume();
          return;
        case 'temporal-restart':
          // The product starts its server again by itself.
          killTemporal(folder);
          await pause(fault.lengthMs);
          return;
        case 'gateway-kill':
        case 'worker-kill':
        case 'worker-pause':
        case 'claim-pause':
        case 'cut-before-commit':
        case 'cut-after-commit':
        case 'cut-all':
        case 'postgres-restart':
          throw new Error(`${fault.kind} is for several processes`);
      }
    },
    fsck: async () =>
      (await hasCommand('fsck', options.bin))
        ? await runCommand(
            ['fsck'],
            { ...env, TEMPORAL_ADDRESS: world.temporalAddress },
            options.bin,
          )
        : { code: 0, output: 'this build has no fsck' },
  };
  try {
    await heal();
  } catch (error) {
    await dev.kill();
    throw error;
  }
  return world;
}

function killTemporal(folder: string): void {
  try {
    const record = JSON.parse(readFileSync(path.join(folder, 'temporal.pid'), 'utf8')) as {
      server: { pid: number };
    };
    process.kill(record.server.pid, 'SIGKILL');
  } catch {
    // It is just being started again.
  }
}
