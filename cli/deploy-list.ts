/** `everthread deploy ls|wait`: what each build does. Each gives the exit code. */
import pc from 'picocolors';
import { setTimeout as pause } from 'node:timers/promises';
import { useColors } from '../config/colors.js';
import { readEnvironment } from '../config/env.js';
import type { StorageConfig } from '../config/storage.js';
import type { RunningTurnCount } from '../storage/port.js';
import type { Deployment, DeploymentVersion } from '../temporal/deployments.js';
import { complain, exitCode, say, withDeployment, type DeployContext } from './deploy-link.js';
import { parseTime } from './deploy.js';
import type { DeployFlags, WaitFlags } from './deploy-command.js';
import { table } from './thread-view.js';

export const listBuilds = (flags: DeployFlags): Promise<number> =>
  withDeployment(flags, async ({ config, name, deployments }) => {
    const deployment = await deployments.describe();
    const { versions = [], ramping } = deployment ?? {};
    const running = await runningTurns(config.storage);
    const workers = await deployments.workers(versions, [config.taskQueue]);
    const countsOf = (buildId: string | null) => ({
      build_id: buildId,
      workers: workers.filter((worker) => worker.buildId === buildId).length,
      turns: running === undefined ? null : turnsOf(running, buildId),
    });
    const unversioned = countsOf(null);
    const builds = [
      ...versions.map((version) => ({
        ...countsOf(version.buildId),
        status: version.status,
        ...(version.status === 'ramping' && { percent: ramping?.percent ?? 0 }),
      })),
      ...(isShown(unversioned, deployment)
        ? [{ ...unversioned, status: statusOfUnversioned(deployment) }]
        : []),
    ];
    if (flags.json === true) {
      say(JSON.stringify({ deployment: name, builds }));
      return exitCode.done;
    }
    if (builds.length === 0) complain(`Deployment ${name} has no builds, and no worker runs.`);
    else {
      const rows = builds.map((build) => [
        build.build_id ?? '(no build id)',
        'percent' in build ? `${build.status} ${build.percent}%` : build.status,
        ...[String(build.workers), build.turns === null ? '?' : String(build.turns)],
      ]);
      const paint = pc.createColors(
        useColors(readEnvironment({ withDotenv: false }), process.stdout),
      );
      for (const line of table(['BUILD', 'STATUS', 'WORKERS', 'TURNS'], rows, paint)) say(line);
    }
    if (running === undefined)
      complain('EVERTHREAD_POSTGRES_URL is not set, so running turns are not counted.');
    return exitCode.done;
  });

const isShown = (
  { workers, turns }: { readonly workers: number; readonly turns: number | null },
  deployment: Deployment | undefined,
): boolean => workers > 0 || (turns ?? 0) > 0 || statusOfUnversioned(deployment) !== 'drained';

/** Temporal tells no more of them than that tasks go to them or not. */
function statusOfUnversioned(deployment: Deployment | undefined): string {
  if (deployment === undefined || deployment.current === null) return 'current';
  return deployment.ramping?.buildId === null ? 'ramping' : 'drained';
}

/** Between two looks of a wait: a person or a script waits for minutes. */
const againMs = 1_000;

export const waitUntilDrained = (flags: WaitFlags): Promise<number> =>
  withDeployment(flags, async (context) => {
    const { buildId } = context;
    if (buildId === null) {
      complain('Which build? --build-id names one.');
      return exitCode.usage;
    }
    if (context.config.storage.kind !== 'postgres') {
      complain('EVERTHREAD_POSTGRES_URL is not set: the database knows which turns run.');
      return exitCode.usage;
    }
    const endMs = performance.now() + parseTime('--timeout', flags.timeout);
    for (let told = ''; ;) {
      const state = await drainState(context, buildId);
      if (state.kind === 'drained') {
        say(`Build ${buildId} is drained: its workers may be stopped.`);
        return exitCode.done;
      }
      if (state.kind === 'in use' || performance.now() > endMs) {
        complain(state.kind === 'in use' ? state.why : `The time is over: ${state.why}`);
        return exitCode.notDone;
      }
      if (state.why !== told) complain(state.why);
      told = state.why;
      await pause(againMs);
    }
  });

type DrainState =
  { readonly kind: 'drained' } | { readonly kind: 'draining' | 'in use'; readonly why: string };

async function drainState(
  { config, name, deployments }: DeployContext,
  buildId: string,
): Promise<DrainState> {
  const { versions = [] } = (await deployments.describe()) ?? {};
  const version = versions.find((one) => one.buildId === buildId);
  if (version === undefined)
    return { kind: 'in use', why: `Deployment ${name} knows no build ${buildId}.` };
  const turns = turnsOf((await runningTurns(config.storage)) ?? [], buildId);
  switch (version.status) {
    case 'current':
    case 'ramping':
      return { kind: 'in use', why: `Build ${buildId} is ${version.status}: it does not drain.` };
    case 'inactive':
    case 'draining':
    case 'drained':
      return turns === 0 && isOver(version) ? { kind: 'drained' } : waiting(buildId, turns);
  }
}

/** One that was never used has nothing to drain. */
const isOver = ({ status }: DeploymentVersion): boolean => status !== 'draining';

const waiting = (buildId: string, turns: number): DrainState => ({
  kind: 'draining',
  why:
    turns === 0
      ? `Build ${buildId} is draining; no turn runs on it.`
      : `Build ${buildId} is draining; ${turns} ${turns === 1 ? 'turn runs' : 'turns run'} on it.`,
});

const turnsOf = (running: readonly RunningTurnCount[], buildId: string | null): number =>
  running.find((one) => one.buildId === buildId)?.count ?? 0;

/** Undefined: it is not known which database. The driver is loaded only then. */
async function runningTurns(
  target: StorageConfig,
): Promise<readonly RunningTurnCount[] | undefined> {
  if (target.kind !== 'postgres') return undefined;
  const { openOperatorStore } = await import('../storage/operator-store.js');
  const store = await openOperatorStore(target, 'check');
  try {
    return await store.runningTurns();
  } finally {
    await store.close();
  }
}
