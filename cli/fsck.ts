/** `everthread fsck`: checks the invariants of a store, live or stopped, and repairs what can be (SPEC O1-O4). */
import { resolveConfig } from '../config/config.js';
import { describeStorage } from '../config/storage.js';
import type { Config } from '../config/config.js';
import { readEnvironment } from '../config/env.js';
import { openOperatorStore } from '../storage/operator-store.js';
import { describeFailure } from './failure.js';
import { errorsOf, reportLines, type FsckReport } from './fsck-report.js';
import { walkStore, type TemporalSide } from './fsck-walk.js';

export interface FsckFlags {
  readonly json?: true;
  readonly repair?: true;
}

/** What a script can tell apart. */
const exitCode = { nothingFound: 0, found: 1, notChecked: 2 } as const;

/** @returns the exit code: 0 nothing found, 1 something is wrong, 2 it could not be checked */
export async function fsck(flags: FsckFlags): Promise<number> {
  try {
    const config = resolveConfig(readEnvironment({ withDotenv: true }), { command: 'operate' });
    const report = await checked(config, flags.repair === true);
    process.stdout.write(
      flags.json === true ? `${JSON.stringify(report)}\n` : `${reportLines(report).join('\n')}\n`,
    );
    if (errorsOf(report.findings) > 0) return exitCode.found;
    return wasUnreachable(config, report) ? exitCode.notChecked : exitCode.nothingFound;
  } catch (error) {
    process.stderr.write(`${describeFailure(error)}\n`);
    return exitCode.notChecked;
  }
}

/** Temporal was to be asked, and did not answer. */
const wasUnreachable = ({ temporal }: Config, report: FsckReport): boolean =>
  temporal.kind === 'external' && report.temporal !== 'checked';

async function checked(config: Config, repair: boolean): Promise<FsckReport> {
  const { storage: target } = config;
  if (target.kind === 'memory') throw new Error('A store in memory ends with its process.');
  const store = await openOperatorStore(target, repair ? 'repair' : 'check');
  try {
    const side = await temporalSide(config, store.store);
    try {
      const temporal = 'notChecked' in side ? undefined : side;
      const walked = await walkStore({ store, repair, ...(temporal && { temporal }) });
      return {
        place: describeStorage(target),
        store: store.store,
        ...walked,
        temporal: 'notChecked' in side ? side : 'checked',
      };
    } finally {
      if ('close' in side) await side.close();
    }
  } finally {
    await store.close();
  }
}

type Side = (TemporalSide & { close(): Promise<void> }) | { readonly notChecked: string };

/** The SDK is loaded only when there is a server to ask. */
async function temporalSide(config: Config, store: string): Promise<Side> {
  if (config.temporal.kind !== 'external') return { notChecked: 'TEMPORAL_ADDRESS is not set.' };
  const [{ openTemporal }, { temporalFromEnvironment }, { threadRuns }, { temporalWaker }] =
    await Promise.all([
      import('../temporal/connection.js'),
      import('../temporal/environment.js'),
      import('../temporal/thread-runs.js'),
      import('../temporal/waker.js'),
    ]);
  const settings = temporalFromEnvironment(config.temporal.env);
  if (settings === undefined) return { notChecked: 'TEMPORAL_ADDRESS names no server.' };
  const { installRuntime } = await import('../temporal/runtime.js');
  installRuntime(() => undefined);
  const link = openTemporal(settings);
  try {
    await link.call((client) => client.workflowService.getSystemInfo({}), connectMs);
  } catch (error) {
    await link.close();
    return { notChecked: error instanceof Error ? error.message : String(error) };
  }
  const runs = threadRuns(
    {
      namespace: link.namespace,
      call: (ask) => link.call((client) => ask(client.workflowService)),
    },
    store,
  );
  const waker = temporalWaker(link, { taskQueue: config.taskQueue, store });
  return {
    isOpen: (thread) => runs.isOpen(thread),
    wake: (turn) => waker.wake(turn, { start: true }),
    close: () => link.close(),
  };
}

/** A person waits, and the first call makes the connection. */
const connectMs = 10_000;
