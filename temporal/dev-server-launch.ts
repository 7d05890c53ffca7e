import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync, statSync, truncateSync } from 'node:fs';
import { recordedProcess, removeRecord, writeRecord } from './dev-server-record.js';
import { endProcess } from './end-process.js';
import { untilAnswering } from './server-health.js';
import { searchAttributeNames } from './settings.js';
import type { DevServerSettings } from './settings.js';

export interface Ports {
  readonly port: number;
  readonly uiPort: number | null;
}

export type LaunchOutcome =
  | { readonly kind: 'running'; readonly process: { readonly pid: number; stop(): Promise<void> } }
  /** `ended`: it ran, and ended before it answered; `failed`: it could not be run, or did not answer in time. */
  | { readonly kind: 'ended' | 'failed'; readonly reason: string; readonly log: string };

/** It takes 0.4 s on an idle machine; a first start on a slow disk or a busy one takes much longer. */
const readyLimitMs = 60_000;

/** The server logs errors only; more than this is a sign of trouble long past. */
const logLimitBytes = 10_000_000;

/** Starts the server on these ports and waits until it answers or has ended. */
export async function launch(settings: DevServerSettings, ports: Ports): Promise<LaunchOutcome> {
  const log = openLog(settings.logFile);
  const child = spawn(settings.cliPath, serverArguments(settings, ports), {
    detached: true,
    stdio: ['ignore', log.descriptor, log.descriptor],
  });
  closeSync(log.descriptor);
  let end: string | undefined;
  let ready = false;
  let stopping = false;
  const ended = (reason: string): void => {
    end ??= reason;
    if (ready && !stopping) settings.onExit?.(reason);
  };
  child.once('error', (error) => ended(error.message));
  child.once('exit', (code, signal) => ended(`it ended with ${signal ?? `code ${code ?? '?'}`}`));
  if (child.pid === undefined) {
    await new Promise((resolve) => child.once('error', resolve));
    return { kind: 'failed', reason: end ?? 'it could not be run', log: '' };
  }
  const forget = remember(child.pid, settings, ports);
  settings.onSpawn?.();
  const stop = async (): Promise<void> => {
    stopping = true;
    await endProcess(child.pid ?? 0, () => isRunning(child));
    forget();
  };

  const local = { port: ports.port, namespace: settings.namespace };
  const outcome = await untilAnswering(local, readyLimitMs, () => end);
  switch (outcome.kind) {
    case 'failed':
      await stop();
      return {
        kind: end === undefined ? 'failed' : 'ended',
        reason: outcome.reason,
        log: log.tail(),
      };
    case 'answering': {
      ready = true;
      child.unref(); // stopping it is an act of ours, never the end of the event loop
      let stopped: Promise<void> | undefined;
      const running = { pid: child.pid, stop: () => (stopped ??= stop()) };
      return { kind: 'running', process: running };
    }
  }
}

const isRunning = (child: ChildProcess): boolean =>
  child.exitCode === null && child.signalCode === null;

function serverArguments(settings: DevServerSettings, { port, uiPort }: Ports): string[] {
  const attributes = settings.searchAttributes ?? searchAttributeNames;
  return [
    ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port)],
    ...(uiPort === null ? ['--headless'] : ['--ui-port', String(uiPort)]),
    ...(settings.dbFile === undefined ? [] : databaseArguments(settings.dbFile)),
    ...(settings.namespace === 'default' ? [] : ['--namespace', settings.namespace]),
    ...attributes.flatMap((name) => ['--search-attribute', `${name}=Keyword`]),
    ...deletionArguments,
    ...Object.entries(settings.dynamicConfig ?? {}).flatMap(([name, json]) => [
      ...['--dynamic-config-value', `${name}=${json}`],
    ]),
    ...dynamicValue('matching.enableFairness', settings.fairness !== false),
    ...['--log-level', 'error'],
    // A person's CLI profile is for clusters of theirs.
    ...['--disable-config-file', '--disable-config-env'],
  ];
}

/** A history that is deleted goes when the queues have noted that its run is closed: half a minute with the server's default. */
const deletionArguments = ['transfer', 'visibility'].flatMap((queue) =>
  dynamicValue(`history.${queue}ProcessorUpdateAckInterval`, '2s'),
);

function dynamicValue(key: string, value: string | boolean): string[] {
  return ['--dynamic-config-value', `${key}=${JSON.stringify(value)}`];
}

/** Twice the turns per second; after a power loss the sweeper signals again what Temporal has forgotten. */
const databaseArguments = (file: string): string[] => [
  ...['--db-filename', file],
  ...['--sqlite-pragma', 'journal_mode=WAL', '--sqlite-pragma', 'synchronous=NORMAL'],
];

function remember(pid: number, settings: DevServerSettings, ports: Ports): () => void {
  const { pidFile } = settings;
  const server = recordedProcess(pid);
  const owner = recordedProcess(process.pid);
  if (pidFile === undefined || server === undefined || owner === undefined) return () => undefined;
  const dbFile = settings.dbFile ?? null;
  writeRecord(pidFile, { server, owner, ...ports, cliPath: settings.cliPath, dbFile });
  return () => removeRecord(pidFile, server);
}

function openLog(file: string): { descriptor: number; tail(): string } {
  const descriptor = openSync(file, 'a');
  if (statSync(file).size > logLimitBytes) truncateSync(file);
  const start = statSync(file).size;
  return {
    descriptor,
    tail: () => readFileSync(file).subarray(start).toString('utf8').trim().slice(-2_000),
  };
}
