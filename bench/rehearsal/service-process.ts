/** One program of somebody else as a child: its log in a file, its end with ours. */
import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { endProcess } from '../../temporal/end-process.js';
import { accepts } from '../../temporal/ports.js';
import { until } from '../../test/support/until.js';

export interface ServiceProcess {
  readonly pid: number;
  stop(): Promise<void>;
}

interface Given {
  readonly command: readonly string[];
  /** Default: this process's. */
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly logFile: string;
  readonly answersAt: Listener;
}

interface Listener {
  readonly host: string;
  readonly port: number;
}

/** Starts it and waits until it listens, as the health check of its container would. @throws with the end of its log */
export async function startService(given: Given): Promise<ServiceProcess> {
  const { command, env = process.env, cwd, logFile, answersAt } = given;
  const [file = '', ...args] = command;
  const log = openSync(logFile, 'a');
  const child = spawn(file, args, { env, cwd, stdio: ['ignore', log, log] });
  closeSync(log);
  const killAtExit = (): boolean => child.kill('SIGKILL');
  process.once('exit', killAtExit);
  let failure: string | undefined;
  child.once('error', (error) => (failure = error.message));
  const alive = (): boolean => child.exitCode === null && child.signalCode === null;
  await until(`${file} to listen`, async () => {
    if (failure !== undefined || !alive())
      throw new Error(`${file} ended: ${failure ?? readFileSync(logFile, 'utf8').slice(-2_000)}`);
    return (await accepts(answersAt.port, answersAt.host)) ? true : undefined;
  });
  const pid = child.pid ?? 0;
  return {
    pid,
    stop: async () => {
      process.off('exit', killAtExit);
      await endProcess(pid, alive);
    },
  };
}
