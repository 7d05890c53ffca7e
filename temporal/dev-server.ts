import { mkdirSync, statfsSync } from 'node:fs';
import path from 'node:path';
import { launch } from './dev-server-launch.js';
import {
  isAlive,
  readRecord,
  removeRecord,
  writeRecord,
  recordedProcess,
} from './dev-server-record.js';
import type { DevServerRecord } from './dev-server-record.js';
import { DevServerError } from './dev-server-error.js';
import { endProcess } from './end-process.js';
import { freePort, isPortFree } from './ports.js';
import { isAnswering } from './server-health.js';
import type { DevServerSettings } from './settings.js';

/** A running Temporal dev server that is ours to stop. */
export interface DevServer {
  /** `host:port` of the gRPC frontend. */
  readonly address: string;
  /** `undefined` when headless. */
  readonly uiUrl: string | undefined;
  readonly pid: number;
  /** Whether it was left over by an earlier process of ours and is used again. */
  readonly adopted: boolean;
  /** Asks the server to end and waits; it is killed if it does not. Safe to call again. */
  stop(): Promise<void>;
}

/**
 * Starts a Temporal dev server in a process group of its own (Ctrl-C reaches only us, we drain first) and waits until
 * it answers. A server that an earlier process of ours left behind is used again if it fits, otherwise ended.
 * The caller holds the data folder's lock.
 * @throws {DevServerError} naming the port and its setting, or quoting the end of the server's log
 */
export async function startDevServer(given: DevServerSettings): Promise<DevServer> {
  const settings: DevServerSettings = {
    ...given,
    dbFile: given.dbFile === undefined ? undefined : path.resolve(given.dbFile),
    pidFile: given.pidFile ?? (given.dbFile === undefined ? undefined : `${given.dbFile}.pid`),
  };
  for (const file of [settings.dbFile, settings.logFile])
    if (file !== undefined) mkdirSync(path.dirname(file), { recursive: true });
  return (await takeOver(settings)) ?? (await launchOnFreePorts(settings));
}

async function takeOver(settings: DevServerSettings): Promise<DevServer | undefined> {
  const { pidFile } = settings;
  if (pidFile === undefined) return undefined;
  const found = readRecord(pidFile);
  switch (found.kind) {
    case 'none':
      return undefined;
    case 'in-use':
      throw new DevServerError(
        `The Temporal dev server of this data folder (pid ${found.record.server.pid}) belongs to process ` +
          `${found.record.owner.pid}, which still runs. End that process, or set EVERTHREAD_DATA to another folder.`,
      );
    case 'orphan':
      if (await fits(found.record, settings)) return adopt(found.record, pidFile, settings.onExit);
      await endOrphan(found.record, pidFile);
      return undefined;
  }
}

/** Only a server with the same database and on the wished ports is used again; an in-memory one holds dead threads. */
async function fits(record: DevServerRecord, settings: DevServerSettings): Promise<boolean> {
  const suits = (wished: number, has: number | null): boolean => wished === 0 || wished === has;
  return (
    settings.dbFile !== undefined &&
    record.dbFile === settings.dbFile &&
    record.cliPath === settings.cliPath &&
    suits(settings.port, record.port) &&
    (settings.headless === true ||
      (record.uiPort !== null && suits(settings.uiPort, record.uiPort))) &&
    (await isAnswering({ port: record.port, namespace: settings.namespace }))
  );
}

function adopt(
  record: DevServerRecord,
  pidFile: string,
  onExit: DevServerSettings['onExit'],
): DevServer {
  const owner = recordedProcess(process.pid);
  if (owner !== undefined) writeRecord(pidFile, { ...record, owner });
  // It is no child of ours, so nobody tells us when it ends.
  const watch = setInterval(() => {
    if (isAlive(record.server)) return;
    clearInterval(watch);
    onExit?.('it is gone');
  }, watchMs).unref();
  let stopped: Promise<void> | undefined;
  return {
    ...addressesOf(record),
    pid: record.server.pid,
    adopted: true,
    stop: () => {
      clearInterval(watch);
      return (stopped ??= endOrphan(record, pidFile));
    },
  };
}

/** A look at `/proc` costs microseconds; a second without a server is not noticed. */
const watchMs = 1_000;

async function endOrphan({ server }: DevServerRecord, pidFile: string): Promise<void> {
  await endProcess(server.pid, () => isAlive(server));
  removeRecord(pidFile, server);
}

/**
 * A free port can be taken between the look and the start, and the server chooses some for itself. A port that somebody wished for
 * is looked at before each try.
 */
const attempts = 3;

async function launchOnFreePorts(settings: DevServerSettings): Promise<DevServer> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await usablePort(settings.port, 'EVERTHREAD_TEMPORAL_PORT');
    const uiPort =
      settings.headless === true
        ? null
        : await usablePort(settings.uiPort, 'EVERTHREAD_TEMPORAL_UI_PORT');
    const outcome = await launch(settings, { port, uiPort });
    switch (outcome.kind) {
      case 'running':
        return { ...addressesOf({ port, uiPort }), ...outcome.process, adopted: false };
      case 'ended':
        if (attempt < attempts) break;
        throw notStarted(settings, outcome);
      case 'failed':
        throw notStarted(settings, outcome);
    }
  }
}

const notStarted = (
  settings: DevServerSettings,
  { reason, log }: { readonly reason: string; readonly log: string },
): DevServerError =>
  new DevServerError(
    `The Temporal dev server did not start: ${reason}. ${diskHint(settings, log)}` +
      `The end of its log, ${settings.logFile}:\n${log}`,
  );

/** A server on a full disk says so in words of SQLite, or cannot even write them. */
function diskHint({ dbFile, logFile }: DevServerSettings, log: string): string {
  const folder = path.dirname(dbFile ?? logFile);
  const full =
    /disk is full|disk i\/o error|no space left|file too large/i.test(log) ||
    freeBytes(folder) < leastFreeBytes;
  return full
    ? `The disk of ${folder} is full or fails. Make room there, or set EVERTHREAD_DATA to another disk. `
    : '';
}

/** An empty database of the server takes about this much. */
const leastFreeBytes = 1_000_000;

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

async function usablePort(wished: number, setting: string): Promise<number> {
  if (wished === 0) return freePort();
  if (await isPortFree(wished)) return wished;
  throw new DevServerError(
    `Port ${wished} is in use, so the Temporal dev server cannot have it. Set ${setting} to another port, ` +
      'or to 0 for a free one; or set TEMPORAL_ADDRESS if a Temporal server runs there.',
  );
}

const addressesOf = ({ port, uiPort }: { port: number; uiPort: number | null }) => ({
  address: `127.0.0.1:${port}`,
  uiUrl: uiPort === null ? undefined : `http://127.0.0.1:${uiPort}`,
});
