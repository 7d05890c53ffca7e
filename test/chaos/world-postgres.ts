/** Two gateways and three workers as processes, with a PostgreSQL and a Temporal server of their own. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startDevServer, type DevServer } from '../../temporal/dev-server.js';
import { freePort } from '../../temporal/ports.js';
import { cuttingProxy } from '../support/cutting-proxy.js';
import { onPostgres } from '../support/database.js';
import { startPostgres } from '../support/postgres-server.mjs';
import { everthread, untilReady } from '../support/processes.js';
import { testCli } from '../support/temporal-server.js';
import { until } from '../support/until.js';
import { type ClaimPauses, claimPauses } from './claim-pause.js';
import { lookInto } from './look-into.js';
import type { JournaledModel } from './model.js';
import type { Random } from './random.js';
import { noteChanges, type Sql } from './read-store.js';
import {
  hasCommand,
  keep,
  modelEnv,
  runCommand,
  type Fault,
  type FaultKind,
  type Kept,
  type World,
  type WorldOptions,
} from './world.js';

const kinds: readonly FaultKind[] = [
  ...(['gateway-kill', 'worker-kill', 'worker-pause', 'claim-pause', 'cut-before-commit'] as const),
  ...(['cut-after-commit', 'cut-all', 'postgres-restart', 'temporal-restart'] as const),
];

export async function postgresWorld(model: JournaledModel, options: WorldOptions): Promise<World> {
  const folder = await mkdtemp(path.join(tmpdir(), 'everthread-chaos-'));
  const postgres = await startPostgres();
  await onPostgres(`${postgres.url}/postgres`, (client) => client.query('CREATE DATABASE chaos'));
  const direct = `${postgres.url}/chaos`;
  const proxy = await cuttingProxy(direct);
  const temporal = await keptTemporal(folder);
  const env = {
    ...modelEnv(model),
    EVERTHREAD_STORAGE: 'postgres',
    EVERTHREAD_POSTGRES_URL: proxy.url,
    TEMPORAL_ADDRESS: temporal.address,
    EVERTHREAD_DATA: folder,
    ...options.env,
  };
  const look = <T>(work: (sql: Sql) => Promise<T>): Promise<T> =>
    lookInto({ kind: 'postgres', url: direct, poolSize: 1 }, work);
  const migrated = await runCommand(['migrate'], env, options.bin);
  if (migrated.code !== 0) throw new Error(`migrate failed: ${migrated.output}`);
  await look(noteChanges);

  const deaths: string[] = [];
  const claims = await claimPauses(folder, options.bin);
  const ports = [await freePort(), await freePort()];
  const gateways = ports.map((port, n) =>
    keep(`gateway ${n}`, deaths, () =>
      everthread(['gateway'], { ...env, PORT: String(port) }, [], options.bin),
    ),
  );
  const workers = [0, 1, 2].map((n) =>
    keep(`worker ${n}`, deaths, () =>
      everthread(['worker'], { ...env, ...claims.env }, [], options.bin),
    ),
  );
  const urls = ports.map((port) => `http://127.0.0.1:${port}`);
  const parts: Parts = { gateways, workers, claims, proxy, postgres, temporal };
  const heal = async (): Promise<void> => {
    proxy.onWrite(() => 'pass');
    for (const kept of [...gateways, ...workers]) {
      if (kept.paused) kept.resume();
      if (!kept.proc.alive()) kept.start();
    }
    await Promise.all(gateways.map(({ proc }, n) => untilReady(urls[n] ?? '', proc)));
  };
  const stop = async (): Promise<void> => {
    await Promise.all([...gateways, ...workers].map((kept) => kept.kill()));
    await proxy.close();
    await temporal.stop();
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  };
  const world: World = {
    ...{ storage: 'postgres', model, gateways: urls, temporalAddress: temporal.address },
    ...{ kinds, deaths, heal, look, stop },
    apply: (fault, choices) => apply(parts, fault, choices),
    fsck: async () =>
      (await hasCommand('fsck', options.bin))
        ? await runCommand(['fsck'], { ...env, EVERTHREAD_POSTGRES_URL: direct }, options.bin)
        : { code: 0, output: 'this build has no fsck' },
  };
  try {
    await heal();
  } catch (error) {
    await stop();
    throw error;
  }
  return world;
}

interface Parts {
  readonly gateways: readonly Kept[];
  readonly workers: readonly Kept[];
  readonly claims: ClaimPauses;
  readonly proxy: Awaited<ReturnType<typeof cuttingProxy>>;
  readonly postgres: Awaited<ReturnType<typeof startPostgres>>;
  readonly temporal: KeptTemporal;
}

/** Of the COMMITs in a window of cuts, so many are cut: enough to meet each kind, few enough to let work go on. */
const cutShare = 0.3;

async function apply(parts: Parts, fault: Fault, choices: Random): Promise<void> {
  const { gateways, workers, claims, proxy, postgres, temporal } = parts;
  const cutting = async (when: 'before' | 'after'): Promise<void> => {
    proxy.onWrite(() => (choices.chance(cutShare) ? when : 'pass'));
    await pause(fault.lengthMs);
    proxy.onWrite(() => 'pass');
  };
  switch (fault.kind) {
    case 'gateway-kill': {
      await restart(one(gateways, fault.which), fault.lengthMs);
      return;
    }
    case 'worker-kill': {
      await restart(one(workers, fault.which), fault.lengthMs);
      return;
    }
    case 'worker-pause': {
      const worker = one(workers, fault.which);
      worker.pause();
      await pause(fault.lengthMs);
      if (worker.paused) worker.resume();
      return;
    }
    case 'claim-pause': {
      await claims.apply(workers, fault.lengthMs);
      return;
    }
    case 'cut-before-commit': {
      await cutting('before');
      return;
    }
    case 'cut-after-commit': {
      await cutting('after');
      return;
    }
    case 'cut-all':
      proxy.cutAll();
      return;
    case 'postgres-restart':
      await postgres.halt('SIGQUIT');
      await pause(fault.lengthMs);
      {
        await postgres.start();
        return;
      }
    case 'temporal-restart': {
      await temporal.restart(fault.lengthMs);
      return;
    }
    case 'process-kill':
    case 'process-pause':
      throw new Error(`${fault.kind} is for one process`);
  }
}

const one = (list: readonly Kept[], which: number): Kept => {
  const found = list[which % list.length];
  if (found === undefined) throw new Error('no such process');
  return found;
};

async function restart(kept: Kept, downMs: number): Promise<void> {
  await kept.kill();
  await pause(downMs);
  kept.start();
}

interface KeptTemporal {
  readonly address: string;
  restart(downMs: number): Promise<void>;
  stop(): Promise<void>;
}

/** A Temporal server that comes back on the same port with the same database. */
async function keptTemporal(folder: string): Promise<KeptTemporal> {
  const cliPath = await testCli();
  const port = await freePort();
  const launch = (): Promise<DevServer> =>
    startDevServer({
      ...{ cliPath, port, uiPort: 0, headless: true, namespace: 'default' },
      dbFile: path.join(folder, 'temporal.db'),
      logFile: path.join(folder, 'temporal.log'),
    });
  let server = await launch();
  const killAtExit = (): void => {
    process.kill(server.pid, 'SIGKILL');
  };
  process.once('exit', killAtExit);
  return {
    address: server.address,
    async restart(downMs) {
      process.kill(server.pid, 'SIGKILL');
      await until('Temporal to be gone', () => (isRunning(server.pid) ? undefined : true));
      await pause(downMs);
      server = await launch();
    },
    async stop() {
      process.off('exit', killAtExit);
      await server.stop();
    },
  };
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
