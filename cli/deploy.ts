/** `everthread deploy current|ramp`: says where Temporal sends the turns. Each gives the exit code. */
import { setTimeout as pause } from 'node:timers/promises';
import * as shape from '../config/shapes.js';
import { DeploymentRefused, type Deployment } from '../temporal/deployments.js';
import { complain, exitCode, say, withDeployment, type DeployContext } from './deploy-link.js';
import type { CurrentFlags, RampFlags, RouteFlags } from './deploy-command.js';

export const setCurrent = (flags: CurrentFlags): Promise<number> =>
  withDeployment(flags, async (context) => {
    const { name, deployments } = context;
    const buildId = flags.unversioned === true ? null : context.buildId;
    if (buildId === null && flags.unversioned !== true) {
      complain('Which build? --build-id names one; --unversioned means workers without one.');
      return exitCode.usage;
    }
    if (flags.unversioned === true && flags.buildId !== undefined) {
      complain('--build-id and --unversioned exclude each other: name one of them.');
      return exitCode.usage;
    }
    const before = await deployments.describe();
    if (before === undefined && buildId === null) {
      say(`There is no deployment ${name}: turns go to workers without a build id.`);
      return exitCode.done;
    }
    const was = before?.current ?? null;
    if (before !== undefined && was === buildId && before.ramping === undefined) {
      say(`${capital(named(buildId))} ${isOrAre(buildId)} current already.`);
      return exitCode.done;
    }
    await routed(context, { buildId, flags }, (how) => deployments.setCurrent(buildId, how));
    say(
      was === buildId
        ? `All turns go to ${named(buildId)} again.`
        : `${capital(named(buildId))} ${isOrAre(buildId)} current; ${named(was)} ${was === null ? 'were' : 'was'}.`,
    );
    return exitCode.done;
  });

/** Workers without a build id are many. */
const isOrAre = (buildId: string | null): string => (buildId === null ? 'are' : 'is');

export const setRamp = (flags: RampFlags): Promise<number> =>
  withDeployment(flags, async (context) => {
    const { buildId, deployments } = context;
    const percent = Number(flags.percent);
    if (!/^\d{1,3}(\.\d{1,2})?$/.test(flags.percent) || percent > 100) {
      complain('--percent takes a number from 0 to 100.');
      return exitCode.usage;
    }
    if (buildId === null) {
      complain('Which build? --build-id names one.');
      return exitCode.usage;
    }
    if (percent === 0) {
      const { ramping } = (await deployments.describe()) ?? {};
      if (ramping?.buildId === buildId)
        await deployments.setRamping(undefined, { allowMissingQueues: true });
      say(`No thread is sent to build ${buildId} for a ramp.`);
      return exitCode.done;
    }
    await routed(context, { buildId, flags }, (how) =>
      deployments.setRamping({ buildId, percent }, how),
    );
    say(`${percent} % of the threads go to build ${buildId}.`);
    return exitCode.done;
  });

interface Route {
  readonly buildId: string | null;
  readonly flags: RouteFlags;
}

/** Between two looks: a worker that has just started is known to the server within a second or two. */
const againMs = 300;

/** Waits for the build's workers, then changes the route, then waits until every task queue has heard of it. */
async function routed(
  { config, name, deployments }: DeployContext,
  { buildId, flags }: Route,
  change: (how: { readonly allowMissingQueues: boolean }) => Promise<void>,
): Promise<void> {
  const endMs = performance.now() + parseTime('--wait', flags.wait);
  const how = { allowMissingQueues: flags.allowMissingQueues === true };
  for (;;) {
    const failure = await attempt();
    if (failure === undefined) break;
    if (!failure.passing || performance.now() > endMs) throw failure;
    await pause(againMs);
  }
  const heardEndMs = performance.now() + routedWithinMs;
  while (!isRouted(await deployments.describe())) {
    if (performance.now() > heardEndMs) {
      complain('The change is made; some task queues have not heard of it yet.');
      return;
    }
    await pause(againMs);
  }

  async function attempt(): Promise<DeploymentRefused | undefined> {
    try {
      if (flags.allowNoWorkers !== true) await refuseWithoutWorkers();
      await change(how);
      return undefined;
    } catch (error) {
      if (error instanceof DeploymentRefused) return error;
      throw error;
    }
  }

  /** The server itself takes any build that once had a worker. */
  async function refuseWithoutWorkers(): Promise<void> {
    const { versions = [] } = (await deployments.describe()) ?? {};
    const workers = await deployments.workers(versions, [config.taskQueue]);
    if (workers.some((worker) => worker.buildId === buildId)) return;
    throw new DeploymentRefused(
      `No worker of ${named(buildId)} asks for turns (deployment ${name}, task queue ${config.taskQueue}): turns would wait. ` +
        `Start "everthread worker${buildId === null ? '' : ` --build-id ${buildId}`}" first, or say --allow-no-workers.`,
      { cause: undefined, passing: true },
    );
  }
}

/** It takes a moment per task queue; one that takes longer has lost its server. */
const routedWithinMs = 15_000;
const isRouted = (deployment: Deployment | undefined): boolean => deployment?.routed !== false;

export function parseTime(flag: string, text: string): number {
  const { schema, allowed } = shape.duration(longestWaitHours);
  const parsed = schema.safeParse(text);
  if (!parsed.success) throw new Error(`${flag} is "${text}". Allowed: ${allowed}.`);
  return parsed.data;
}
const longestWaitHours = 24;

const named = (buildId: string | null): string =>
  buildId === null ? 'workers without a build id' : `build ${buildId}`;
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
