import { mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { resolveTemporalCli, temporalCacheFolder } from '../../temporal/cli-resolver.js';
import { startDevServer } from '../../temporal/dev-server.js';

export interface TestTemporal {
  readonly address: string;
  readonly namespace: string;
  readonly cliPath: string;
  stop(): Promise<void>;
}

/** The CLI as this machine has it: fetched into the user's cache by the first test that asks. */
export async function testCli(): Promise<string> {
  const cli = await resolveTemporalCli({
    explicitPath: process.env.EVERTHREAD_TEMPORAL_CLI,
    searchPath: process.env.PATH ?? '',
    cacheFolder: temporalCacheFolder(process.env.XDG_CACHE_HOME, homedir()),
  });
  return cli.path;
}

/**
 * A real Temporal server for tests: in memory, on a free port, without the Web UI. Ready in half a second.
 * With EVERTHREAD_TEST_TEMPORAL_ADDRESS, that server, and it stays: `npm run temporal` starts one on PostgreSQL.
 */
export async function startTestTemporal(
  dynamicConfig?: Readonly<Record<string, string>>,
): Promise<TestTemporal> {
  const namespace = 'default';
  const cliPath = await testCli();
  const given = process.env.EVERTHREAD_TEST_TEMPORAL_ADDRESS;
  if (given !== undefined)
    return { address: given, namespace, cliPath, stop: () => Promise.resolve() };
  const folder = await mkdtemp(path.join(tmpdir(), 'everthread-temporal-'));
  const server = await startDevServer({
    ...{ cliPath, port: 0, uiPort: 0, headless: true, namespace },
    dbFile: undefined,
    dynamicConfig,
    logFile: path.join(folder, 'temporal.log'),
  });
  // Being in a group of its own, it would outlive a test run that is cut off.
  const killAtExit = (): void => {
    process.kill(server.pid, 'SIGKILL');
  };
  process.once('exit', killAtExit);
  const stop = async (): Promise<void> => {
    process.off('exit', killAtExit);
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
  return { address: server.address, namespace, cliPath, stop };
}
