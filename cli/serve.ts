/** What the commands that run until they are stopped have in common: settings, log, signals, a clean end. */
import { failRunOf, runningGraph, runningTurn } from '../activities/run-context.js';
import { useColors } from '../config/colors.js';
import { resolveConfig } from '../config/config.js';
import type { Command, Config } from '../config/config.js';
import { readEnvironment } from '../config/env.js';
import type { Environment } from '../config/env.js';
import { logOf } from '../config/log.js';
import type { Log } from '../config/log.js';
import { listenForStop } from './signals.js';

/** A process that is up. */
export interface Running {
  /** Rejects when a part without which it cannot go on broke. */
  readonly broken?: Promise<unknown>;
  stop(): Promise<void>;
}

interface ServeContext {
  readonly config: Config;
  readonly env: Environment;
  readonly log: Log;
  readonly colors: boolean;
  /** A line for a person, beside the log. */
  readonly say: (line: string) => void;
  /** Aborts when a stop is asked for: a start need not go on waiting. */
  readonly stopAsked: AbortSignal;
}

export interface Served<R extends Running> {
  readonly command: Exclude<Command, 'migrate' | 'operate'>;
  readonly allowRemote?: boolean | undefined;
  /** Of the command line; they win over the environment's. */
  readonly settings?: Environment;
  start(context: ServeContext): Promise<R>;
  /** Tells that it is ready. */
  onReady(running: R, context: ServeContext): void;
}

/** Runs until a signal or a breakdown. @returns the exit code */
export async function serve<R extends Running>(served: Served<R>): Promise<number> {
  const context = contextOf(served);
  const release = catchExceptions(context.log);
  try {
    return await untilStopped(served, context);
  } finally {
    release();
  }
}

async function untilStopped<R extends Running>(
  served: Served<R>,
  context: ServeContext,
): Promise<number> {
  const { log, stopAsked } = context;
  const running = await started(served, context);
  if (running === undefined) return 0;
  if (!stopAsked.aborted) served.onReady(running, context);
  try {
    await Promise.race([whenAborted(stopAsked), running.broken ?? forever]);
  } catch (error) {
    log.fatal({ err: error }, 'a part of the process broke; stopping');
    await stopped(running, log);
    throw error;
  }
  return (await stopped(running, log)) ? 0 : 1;
}

const forever = new Promise<never>(() => undefined);

/** Undefined when a stop was asked for before the start came to an end. */
async function started<R extends Running>(
  served: Served<R>,
  context: ServeContext,
): Promise<R | undefined> {
  try {
    return await served.start(context);
  } catch (error) {
    if (context.stopAsked.aborted) return undefined;
    throw error;
  }
}

function contextOf({
  command,
  allowRemote,
  settings,
}: Pick<Served<Running>, 'command' | 'allowRemote' | 'settings'>) {
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const stopAsked = listenForStop(say);
  const env = { ...readEnvironment({ withDotenv: command === 'dev' }), ...settings };
  const config = resolveConfig(env, { command, ...(allowRemote === true && { allowRemote }) });
  const log = logOf(config, env);
  // A promise that a graph forgot to await must not end the turns of all other threads.
  process.on('unhandledRejection', (reason) =>
    log.error({ err: reason, ...runningTurn() }, 'nobody awaited this'),
  );
  for (const variable of config.unknownVariables) {
    log.warn({ variable }, 'no setting has this name; it is ignored');
  }
  return { config, env, log, say, stopAsked, colors: useColors(env, process.stdout) };
}

/** @returns a function that ends it: what ends the command itself is said by whoever called it */
function catchExceptions(log: Log): () => void {
  const caught = (error: Error): void => {
    const graph = failRunOf(error);
    if (graph === undefined) endProcess(log, error);
    else log.error({ err: error, ...runningTurn() }, 'a callback of a graph threw; its turn fails');
  };
  process.on('uncaughtException', caught);
  process.exit = exitUnlessGraph;
  return () => {
    process.exit = realExit;
    process.off('uncaughtException', caught);
  };
}

const realExit = process.exit.bind(process);

/** A graph that wants to end the process ends its own turn; the other turns go on. */
function exitUnlessGraph(code?: number | string | null): never {
  const graph = runningGraph();
  if (graph === undefined) return realExit(code);
  throw new ProcessExit(`graph "${graph}" called process.exit(${code ?? ''})`);
}

/** Its name stands in the log, where the words of a graph's errors do not. */
class ProcessExit extends Error {
  override readonly name = 'ProcessExit';
}

/** Nobody knows what state an exception of ours leaves: the turns that run go on after the next start. */
function endProcess(log: Log, error: Error): void {
  log.fatal({ err: error }, 'an exception that nobody caught; the process ends');
  realExit(1);
}

const whenAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** Whether it stopped cleanly. */
async function stopped(running: Running, log: Log): Promise<boolean> {
  try {
    await running.stop();
    return true;
  } catch (error) {
    log.error({ err: error }, 'not everything stopped cleanly');
    return false;
  }
}
