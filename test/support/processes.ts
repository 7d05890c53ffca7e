/** The product as its users run it: child processes of `bin/everthread.js`, ended by their own ids. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { until } from './until.js';

export interface Proc {
  readonly child: ChildProcess;
  /** The last of what it printed. */
  log(): string;
  alive(): boolean;
  /** Sends the signal and waits for the end. */
  end(signal?: NodeJS.Signals): Promise<void>;
}

const keptLogChars = 100_000;

/** The test's own variables, without those that only tests know. */
const outside = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('EVERTHREAD_TEST_')),
  );

/** Room for what is loaded at a start, which is collected again and again without it: a tenth of the CPU of a start. */
const roomToStart = ['--min-semi-space-size=16'];

/** Starts `everthread <args>` with these variables beside the test's own, and flags for Node itself; `bin` is that of another build. */
export function everthread(
  args: readonly string[],
  env: Record<string, string>,
  nodeFlags: readonly string[] = [],
  bin = 'bin/everthread.js',
): Proc {
  return startProc([process.execPath, ...roomToStart, ...nodeFlags, bin, ...args], env);
}

/** Starts any command with these variables beside the test's own. */
export function startProc(command: readonly string[], env: Record<string, string>): Proc {
  const [program = '', ...args] = command;
  const child = spawn(program, args, {
    env: { ...outside(), NO_COLOR: '1', NODE_OPTIONS: '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // A test run that is cut off takes its processes along.
  const kill = (): boolean => child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => (text = (text + data.toString()).slice(-keptLogChars)));
  const alive = (): boolean => child.exitCode === null && child.signalCode === null;
  return {
    child,
    log: () => text,
    alive,
    async end(signal = 'SIGTERM') {
      if (!alive()) return;
      const gone = once(child, 'exit');
      child.kill(signal);
      await gone;
    },
  };
}

/** Waits until a gateway is ready. @throws with the end of its log when it dies instead */
export const untilReady = (url: string, proc: Proc): Promise<true> =>
  until(`${url} to be ready`, async () => {
    if (!proc.alive()) throw new Error(`the process ended: ${proc.log().slice(-2_000)}`);
    const answer = await fetch(`${url}/readyz`).catch(() => undefined);
    return answer?.ok === true ? true : undefined;
  });

export interface Cluster {
  readonly url: string;
  readonly gateway: Proc;
  readonly workers: Proc[];
  /** Starts one more worker. */
  addWorker(): Proc;
  stop(): Promise<void>;
}

/** Gateway and workers as processes of their own on PostgreSQL. */
export async function startCluster(options: {
  readonly port: number;
  readonly workers: number;
  readonly postgresUrl: string;
  readonly temporalAddress: string;
  readonly env: Record<string, string>;
}): Promise<Cluster> {
  const env = {
    EVERTHREAD_STORAGE: 'postgres',
    EVERTHREAD_POSTGRES_URL: options.postgresUrl,
    TEMPORAL_ADDRESS: options.temporalAddress,
    PORT: String(options.port),
    ...options.env,
  };
  const migrate = everthread(['migrate'], env);
  await once(migrate.child, 'exit');
  if (migrate.child.exitCode !== 0) throw new Error(`migrate failed: ${migrate.log()}`);
  const workers: Proc[] = [];
  const addWorker = (): Proc => {
    const worker = everthread(['worker'], env);
    workers.push(worker);
    return worker;
  };
  for (let n = 0; n < options.workers; n += 1) addWorker();
  const gateway = everthread(['gateway'], env);
  const url = `http://127.0.0.1:${options.port}`;
  const stop = async (): Promise<void> => {
    await Promise.all([gateway, ...workers].map((proc) => proc.end('SIGKILL')));
  };
  try {
    await untilReady(url, gateway);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, gateway, workers, addWorker, stop };
}
