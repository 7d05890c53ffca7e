/** Which build a worker is, for Temporal's worker deployments; the operator's `everthread deploy` speaks of the same one. */
import type { Command } from './config.js';
import type { SettingReader } from './problems.js';
import * as shape from './shapes.js';

export interface DeploymentConfig {
  readonly name: string;
  /** Null: an unversioned worker, which is told apart from no other. */
  readonly buildId: string | null;
}

/** Temporal joins the two to one word by `.` or `:`, and keeps names that begin with `__` for itself. */
const deploymentName = shape.word(/^(?!__)[\w-]{1,100}$/, '1-100 characters of A-Z a-z 0-9 _ -');
const buildId = shape.word(/^(?!__)[\w.+-]{1,100}$/, '1-100 characters of A-Z a-z 0-9 _ . + -');

/** The only worker of `dev` has nobody to hand its turns to. */
export const resolveDeployment = (reader: SettingReader, command: Command): DeploymentConfig => ({
  name: reader.read('EVERTHREAD_DEPLOYMENT', deploymentName, 'everthread'),
  buildId: command === 'dev' ? null : reader.read('EVERTHREAD_BUILD_ID', buildId, null),
});
