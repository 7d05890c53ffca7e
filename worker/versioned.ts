/** What a worker with a build id tells Temporal (V1). */
import type { WorkerDeploymentOptions } from '@temporalio/worker';
import type { DeploymentConfig } from '../config/deployment.js';

/**
 * AUTO_UPGRADE: a thread lives for months, so its next workflow task goes to the build that is current then. Pinned to the build
 * that it began on, a thread would need that build's workers until it hibernates, and a lost build would strand its turns.
 */
export function versionedAs(deployment: DeploymentConfig | undefined): {
  readonly workerDeploymentOptions?: WorkerDeploymentOptions;
} {
  if (deployment === undefined || deployment.buildId === null) return {};
  const { name: deploymentName, buildId } = deployment;
  return {
    workerDeploymentOptions: {
      version: { deploymentName, buildId },
      useWorkerVersioning: true,
      defaultVersioningBehavior: 'AUTO_UPGRADE',
    },
  };
}
