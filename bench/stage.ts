/** What all rows stand on: a folder, one Temporal dev server as `everthread dev` starts it, and the end of everything. */
import { mkdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stack } from '../config/stack.js';
import type { Stack } from '../config/stack.js';
import { startDevServer } from '../temporal/dev-server.js';
import { testCli } from '../test/support/temporal-server.js';

export interface Stage {
  readonly quick: boolean;
  /** Where processes under load write their CPU profiles; undefined without `--cpu-prof`. */
  readonly profiles: string | undefined;
  /** `--real-temporal`: the PostgreSQL row gets a real Temporal server on the same PostgreSQL. */
  readonly realTemporal: boolean;
  readonly parts: Stack;
  /** A progress line on stderr. */
  readonly say: (text: string) => void;
  /** A new folder that goes with the run. */
  folder(name: string): string;
  /** The Temporal dev server of the run: WAL and `synchronous=NORMAL`, started when the first row asks. */
  temporal(): Promise<{ readonly address: string; readonly pid: number; readonly dbFile: string }>;
}

export async function openStage(options: {
  readonly quick: boolean;
  readonly profiles: string | undefined;
  readonly realTemporal: boolean;
}): Promise<Stage> {
  const parts = stack();
  const root = await mkdtemp(path.join(tmpdir(), 'everthread-bench-'));
  parts.add(root, () => rm(root, { recursive: true, force: true }));
  const started = Date.now();
  const say = (text: string): void => {
    console.error(`${((Date.now() - started) / 1_000).toFixed(1).padStart(6)} s  ${text}`);
  };
  let folders = 0;
  const folder = (name: string): string => {
    const made = path.join(root, `${(folders += 1)}-${name}`);
    mkdirSync(made);
    return made;
  };
  let temporal: ReturnType<Stage['temporal']> | undefined;
  const start = async (): ReturnType<Stage['temporal']> => {
    const own = folder('temporal');
    const dbFile = path.join(own, 'temporal.db');
    const server = await startDevServer({
      cliPath: await testCli(),
      ...{ port: 0, uiPort: 0, headless: true, namespace: 'default' },
      dbFile,
      logFile: path.join(own, 'temporal.log'),
    });
    // In a group of its own it would outlive a bench that is cut off.
    const killAtExit = (): void => {
      process.kill(server.pid, 'SIGKILL');
    };
    process.once('exit', killAtExit);
    parts.add(server, async () => {
      process.off('exit', killAtExit);
      await server.stop();
    });
    return { address: server.address, pid: server.pid, dbFile };
  };
  return { ...options, parts, say, folder, temporal: () => (temporal ??= start()) };
}
