/** Tells in the log what Temporal does with this worker's build: an operator need not guess why no turn comes, or when it may stop (V1). */
import type { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { DeploymentConfig } from '../config/deployment.js';
import type { Storage } from '../storage/port.js';
import {
  deployments,
  type Deployment,
  type Deployments,
  type VersionStatus,
} from '../temporal/deployments.js';
import { startRounds } from './rounds.js';

interface DeploymentWatchDeps {
  readonly native: NativeConnection;
  readonly namespace: string;
  readonly turns: Pick<Storage['turns'], 'countRunning'>;
  readonly log: Logger;
}

/** A change of the route is an operator's act, who looks at the log right after it. */
const lookMs = 3_000;
/** While turns come to it there is little to tell, and a fleet has many workers. */
const calmLookMs = 15_000;
/** A call that is not answered is made again at a later look. */
const callLimitMs = 3_000;

/**
 * @returns a function that ends the watch; without a build id there is nothing to watch
 * @throws DeploymentRefused when the server has no worker deployments: its workers would get no turn
 */
export async function watchDeployment(
  deps: DeploymentWatchDeps,
  deployment: DeploymentConfig,
): Promise<{ stop(): Promise<void> }> {
  const { name, buildId } = deployment;
  if (buildId === null) return { stop: () => Promise.resolve() };
  const { native, namespace, log } = deps;
  const asked = deployments({
    ...{ namespace, deployment: name },
    call: (run) => native.withDeadline(Date.now() + callLimitMs, () => run(native.workflowService)),
  });
  await refuseUnlessServed(asked);
  let told: State | undefined;
  let calmUntilMs = 0;
  const stop = startRounds(async () => {
    if (performance.now() < calmUntilMs) return;
    try {
      const state = stateOf(await asked.describe(), buildId);
      const now = state === 'drained' && (await turnsOn(deps, buildId)) > 0 ? 'draining' : state;
      if (now === 'current' || now === 'ramping') calmUntilMs = performance.now() + calmLookMs;
      if (now !== told) tell(log, now, deployment);
      told = now;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      log.debug({ reason }, 'could not look at the worker deployment');
    }
  }, lookMs);
  return { stop };
}

/** A server that is away is waited for as everywhere; one that refuses is an error at once. */
async function refuseUnlessServed(asked: Deployments): Promise<void> {
  try {
    await asked.describe();
  } catch (error) {
    if (error instanceof Error && error.name === 'DeploymentRefused') throw error;
  }
}

/** `unknown`: Temporal has not heard of the build. */
type State = VersionStatus | 'unknown';

const stateOf = (deployment: Deployment | undefined, buildId: string): State =>
  deployment?.versions.find((version) => version.buildId === buildId)?.status ?? 'unknown';

async function turnsOn({ turns }: DeploymentWatchDeps, buildId: string): Promise<number> {
  const running = await turns.countRunning();
  return running.find((one) => one.buildId === buildId)?.count ?? 0;
}

function tell(log: Logger, state: State, { name: deployment, buildId }: DeploymentConfig): void {
  const about = { deployment, buildId };
  switch (state) {
    case 'unknown':
      log.warn(about, 'Temporal does not know this build yet');
      return;
    case 'inactive':
      log.warn(
        about,
        `no turn comes to this build until "everthread deploy current --build-id ${buildId ?? ''}"`,
      );
      return;
    case 'current':
      log.info(about, 'this build is current: turns come to it');
      return;
    case 'ramping':
      log.info(about, 'this build is ramping: a share of the threads comes to it');
      return;
    case 'draining':
      log.info(about, 'this build drains: turns that run here end here, others go elsewhere');
      return;
    case 'drained':
      log.info(about, 'this build is drained: its workers may be stopped');
      return;
  }
}
