/** The versions of a worker deployment: what Temporal knows of them, and which one it sends tasks to (V1). */
import { isGrpcServiceError } from '@temporalio/client';
import type { WorkflowService } from '@temporalio/client';
import { grpcCode, grpcCodeOf } from './errors.js';
import { workersOf, type Worker } from './deployment-workers.js';

/** How calls reach the server, and which deployment they are about. */
interface DeploymentAccess {
  readonly namespace: string;
  readonly deployment: string;
  /** Ends a call that is not answered. */
  readonly call: <T>(run: (service: WorkflowService) => Promise<T>) => Promise<T>;
}

/** `inactive`: it was never current or ramping. `drained`: nothing new comes to it any more. */
export type VersionStatus = 'inactive' | 'current' | 'ramping' | 'draining' | 'drained';

export interface DeploymentVersion {
  readonly buildId: string;
  readonly status: VersionStatus;
}

export interface Deployment {
  readonly versions: readonly DeploymentVersion[];
  /** Null: tasks go to unversioned workers. */
  readonly current: string | null;
  /** Its share of the threads goes to this build (null: to unversioned workers). */
  readonly ramping: { readonly buildId: string | null; readonly percent: number } | undefined;
  /** Every task queue has heard of it. */
  readonly routed: boolean;
}

export interface Deployments {
  /** Undefined: no worker has ever named the deployment. */
  describe(): Promise<Deployment | undefined>;
  /** Who asks for tasks on these queues, or on those that the versions were seen on. */
  workers(
    versions: readonly DeploymentVersion[],
    queues: readonly string[],
  ): Promise<readonly Worker[]>;
  /** From now on tasks go to this build; null: to unversioned workers. As often as one likes. */
  setCurrent(buildId: string | null, how: RouteOptions): Promise<void>;
  /** This share of the threads goes to the build; undefined ends it. */
  setRamping(
    ramp: { readonly buildId: string; readonly percent: number } | undefined,
    how: RouteOptions,
  ): Promise<void>;
}

interface RouteOptions {
  /** Tasks of queues on which no worker of the build was seen would wait. */
  readonly allowMissingQueues: boolean;
}

export function deployments(access: DeploymentAccess): Deployments {
  const { namespace, deployment: deploymentName } = access;
  const identity = 'everthread deploy';
  const call = <T>(run: (service: WorkflowService) => Promise<T>): Promise<T> =>
    access.call(run).catch((error: unknown) => {
      throw inWords(error, deploymentName);
    });
  return {
    describe: () =>
      call(async (service) => {
        try {
          return readDeployment(
            await service.describeWorkerDeployment({ namespace, deploymentName }),
          );
        } catch (error) {
          if (grpcCodeOf(error) === grpcCode.notFound) return undefined;
          throw error;
        }
      }),
    workers: (versions, queues) =>
      call((service) => workersOf(service, { namespace, deploymentName, versions, queues })),
    setCurrent: async (buildId, { allowMissingQueues: ignoreMissingTaskQueues }) => {
      const asked = { namespace, deploymentName, buildId: buildId ?? '', identity };
      await call((service) =>
        service.setWorkerDeploymentCurrentVersion({ ...asked, ignoreMissingTaskQueues }),
      );
    },
    setRamping: async (ramp, { allowMissingQueues: ignoreMissingTaskQueues }) => {
      const { buildId, percent: percentage } = ramp ?? { buildId: '', percent: 0 };
      const asked = { namespace, deploymentName, buildId, percentage, identity };
      await call((service) =>
        service.setWorkerDeploymentRampingVersion({ ...asked, ignoreMissingTaskQueues }),
      );
    },
  };
}

type Described = Awaited<ReturnType<WorkflowService['describeWorkerDeployment']>>;

/** `VERSION_DRAINAGE_STATUS_DRAINING` and `…_DRAINED`, `ROUTING_CONFIG_UPDATE_STATE_IN_PROGRESS` of the server's API. */
const draining = 1;
const drained = 2;
const inProgress = 1;

/** The routing itself, not the summaries' status: older servers have none. */
function readDeployment({ workerDeploymentInfo: info }: Described): Deployment {
  const routing = info?.routingConfig;
  const current = routing?.currentDeploymentVersion?.buildId ?? null;
  const percent = routing?.rampingVersionPercentage ?? 0;
  const rampingTo = routing?.rampingDeploymentVersion?.buildId ?? null;
  const ramping = percent > 0 || rampingTo !== null ? { buildId: rampingTo, percent } : undefined;
  const statusOf = (buildId: string, drainage: number): VersionStatus => {
    if (buildId === current) return 'current';
    if (buildId === rampingTo) return 'ramping';
    if (drainage === drained) return 'drained';
    return drainage === draining ? 'draining' : 'inactive';
  };
  const versions = (info?.versionSummaries ?? []).map((summary) => {
    const buildId = summary.deploymentVersion?.buildId ?? '';
    return { buildId, status: statusOf(buildId, Number(summary.drainageInfo?.status)) };
  });
  return {
    versions,
    current,
    ramping,
    routed: Number(info?.routingConfigUpdateState) !== inProgress,
  };
}

/** Temporal refuses what was asked of the deployment; the message says what to do. */
export class DeploymentRefused extends Error {
  override readonly name = 'DeploymentRefused';
  /** Pollers or another change are on their way: the same call may work in a moment. */
  readonly passing: boolean;

  constructor(message: string, options: { cause: unknown; passing: boolean }) {
    super(message, { cause: options.cause });
    this.passing = options.passing;
  }
}

/** What a person can do about it; what is no answer of the server stays as it is. */
function inWords(error: unknown, deployment: string): unknown {
  const code = grpcCodeOf(error);
  const refused = (message: string, passing = false): DeploymentRefused =>
    new DeploymentRefused(message, { cause: error, passing });
  const said = saidBy(error);
  switch (code) {
    case grpcCode.unimplemented:
      return refused(
        'This Temporal server knows no worker deployments: it must be 1.28 or newer. Run workers without a build id on it.',
      );
    case grpcCode.permissionDenied:
    case grpcCode.unauthenticated:
      return refused(
        `Temporal does not let us use worker deployments here (${said}). They must be on for the namespace (dynamic config ` +
          'system.enableDeploymentVersions), and TEMPORAL_API_KEY and TEMPORAL_TLS_* must allow it. Without them run workers without a build id.',
      );
    case grpcCode.notFound:
      return refused(`Temporal does not know it: ${said}. Start its workers first.`, true);
    case grpcCode.failedPrecondition:
      return refused(`Temporal refuses this for deployment ${deployment}: ${said}.`, true);
    case grpcCode.invalidArgument:
      return refused(`Temporal refuses this for deployment ${deployment}: ${said}.`);
    case undefined:
    default:
      return error;
  }
}

const saidBy = (error: unknown): string =>
  isGrpcServiceError(error) && error.details !== ''
    ? error.details
    : error instanceof Error
      ? error.message
      : String(error);
