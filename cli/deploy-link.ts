/** What every `everthread deploy` command begins with: which deployment, on which server. */
import { resolveConfig, type Config } from '../config/config.js';
import { readEnvironment } from '../config/env.js';
import { connectTemporal } from '../temporal/connection.js';
import { deployments, type Deployments } from '../temporal/deployments.js';
import { temporalFromEnvironment } from '../temporal/environment.js';
import { installRuntime } from '../temporal/runtime.js';
import { settingsOf, type WorkerFlags } from './worker-command.js';

export interface DeployContext {
  readonly config: Config;
  readonly name: string;
  /** Of the command line or the environment. */
  readonly buildId: string | null;
  readonly deployments: Deployments;
}

/** @throws Error that says what to do */
export async function withDeployment<T>(
  flags: WorkerFlags,
  work: (context: DeployContext) => Promise<T>,
): Promise<T> {
  const env = { ...readEnvironment({ withDotenv: true }), ...settingsOf(flags) };
  const config = resolveConfig(env, { command: 'operate' });
  const { temporal, deployment } = config;
  const settings = temporal.kind === 'external' ? temporalFromEnvironment(temporal.env) : undefined;
  if (settings === undefined)
    throw new Error(
      'TEMPORAL_ADDRESS is not set: builds are for workers of their own. "everthread dev" has one worker, which is always the newest.',
    );
  installRuntime(() => undefined);
  const connection = await connectTemporal(settings);
  const { namespace } = settings;
  const access = {
    ...{ namespace, deployment: deployment.name },
    call: <R>(run: (service: typeof connection.native.workflowService) => Promise<R>) =>
      connection.native.withDeadline(Date.now() + callLimitMs, () =>
        run(connection.native.workflowService),
      ),
  };
  try {
    const { name, buildId } = deployment;
    return await work({ config, name, buildId, deployments: deployments(access) });
  } finally {
    await connection.close();
  }
}

/** The server carries a change to every task queue before it answers. */
const callLimitMs = 15_000;

export const say = (line: string): void => void process.stdout.write(`${line}\n`);
export const complain = (line: string): void => void process.stderr.write(`${line}\n`);
export const exitCode = { done: 0, notDone: 1, usage: 2 } as const;
