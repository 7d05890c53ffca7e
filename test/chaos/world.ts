/** What a chaos run needs of the system under test, whatever its storage: where to send requests, what can break, and how to look inside. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { everthread } from '../support/processes.js';
import type { Proc } from '../support/processes.js';
import type { ScriptedModel } from '../support/scripted-model.js';
import type { JournaledModel } from './model.js';
import type { Random } from './random.js';
import type { Sql } from './read-store.js';

export type FaultKind =
  | 'gateway-kill'
  | 'worker-kill'
  | 'worker-pause'
  | 'claim-pause'
  | 'process-kill'
  | 'process-pause'
  | 'cut-before-commit'
  | 'cut-after-commit'
  | 'cut-all'
  | 'postgres-restart'
  | 'temporal-restart';

/** One planned fault. Each kind takes of it what it needs. */
export interface Fault {
  readonly kind: FaultKind;
  /** Which of several, modulo how many there are. */
  readonly which: number;
  /** How long it lasts: a pause, a time down, a window of cuts. */
  readonly lengthMs: number;
  /** Quiet time before it. */
  readonly afterMs: number;
}

export interface World {
  readonly storage: 'sqlite' | 'postgres';
  readonly model: JournaledModel;
  /** Base URLs; a dead one is among them until it is back. */
  readonly gateways: readonly string[];
  readonly temporalAddress: string;
  readonly kinds: readonly FaultKind[];
  /** Resolves when the fault is over; what it ended has been started again by then. */
  apply(fault: Fault, choices: Random): Promise<void>;
  /** Ends all faults that last, starts what is down, and waits until every gateway is ready. */
  heal(): Promise<void>;
  /** Processes that ended without having been ended by us. */
  readonly deaths: readonly string[];
  /** Runs something on a connection of its own. */
  look<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /** `everthread fsck`, when this build has it. */
  fsck(): Promise<{ readonly code: number; readonly output: string }>;
  stop(): Promise<void>;
}

export interface WorldOptions {
  /** Another build of the product: its `bin/everthread.js`. */
  readonly bin?: string | undefined;
  readonly env?: Record<string, string> | undefined;
}

export const projectConfig = path.resolve('test/fixtures/projects/chaos/langgraph.json');

/** A process that is started again under the same settings, and whose own death is a finding. */
export interface Kept {
  readonly proc: Proc;
  kill(): Promise<void>;
  /** Asks it to end by itself. */
  end(): Promise<void>;
  start(): void;
  pause(): void;
  resume(): void;
  readonly paused: boolean;
}

export function keep(what: string, deaths: string[], launch: () => Proc): Kept {
  let proc: Proc;
  let ending = false;
  let paused = false;
  const start = (): void => {
    ending = false;
    paused = false;
    const started = launch();
    proc = started;
    started.child.once('exit', (code, signal) => {
      if (ending) return;
      deaths.push(`${what} ended by itself (${signal ?? code}): ${started.log().slice(-1_500)}`);
    });
  };
  start();
  return {
    get proc() {
      return proc;
    },
    get paused() {
      return paused;
    },
    start,
    async kill() {
      ending = true;
      await proc.end('SIGKILL');
    },
    async end() {
      ending = true;
      await proc.end('SIGTERM');
    },
    pause() {
      paused = proc.child.kill('SIGSTOP');
    },
    resume() {
      paused = false;
      proc.child.kill('SIGCONT');
    },
  };
}

/** Runs a command of the product to its end. */
export async function runCommand(
  args: readonly string[],
  env: Record<string, string>,
  bin: string | undefined,
): Promise<{ readonly code: number; readonly output: string }> {
  const proc = everthread(args, env, [], bin);
  if (proc.alive()) await once(proc.child, 'exit');
  return { code: proc.child.exitCode ?? -1, output: proc.log() };
}

/** Whether a command exists in this build, by its own help. */
export async function hasCommand(name: string, bin = 'bin/everthread.js'): Promise<boolean> {
  const child = spawn(process.execPath, [bin, '--help'], { stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  child.stdout.on('data', (data: Buffer) => (text += data.toString()));
  await once(child, 'close');
  return new RegExp(`^\\s+${name}\\b`, 'm').test(text);
}

export const modelEnv = (model: ScriptedModel): Record<string, string> => ({
  EVERTHREAD_CONFIG: projectConfig,
  EVERTHREAD_MODEL: 'builtin',
  OPENAI_API_KEY: 'test',
  OPENAI_BASE_URL: model.url,
  LOG_LEVEL: 'warn',
});
