import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { processIdentity } from './process-identity.js';

const processSchema = z.object({ pid: z.int().positive(), identity: z.string().min(1) });

const recordSchema = z.object({
  server: processSchema,
  /** The process that started or adopted the server and will stop it. */
  owner: processSchema,
  port: z.int(),
  uiPort: z.int().nullable(),
  cliPath: z.string(),
  dbFile: z.string().nullable(),
});

/** What the pid file says about a dev server. */
export type DevServerRecord = z.infer<typeof recordSchema>;
export type RecordedProcess = z.infer<typeof processSchema>;

/** What the pid file means now. A pid alone proves nothing: it may belong to someone else's process by now. */
export type Recorded =
  | { readonly kind: 'none' }
  | { readonly kind: 'in-use'; readonly record: DevServerRecord }
  | { readonly kind: 'orphan'; readonly record: DevServerRecord };

export function readRecord(pidFile: string): Recorded {
  const record = parseRecord(pidFile);
  if (record === undefined || !isAlive(record.server)) return { kind: 'none' };
  return { kind: isAlive(record.owner) ? 'in-use' : 'orphan', record };
}

/** Written at once and by rename: a kill right after the spawn must find it whole. */
export function writeRecord(pidFile: string, record: DevServerRecord): void {
  mkdirSync(path.dirname(pidFile), { recursive: true });
  const draft = `${pidFile}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(record, undefined, 2));
  renameSync(draft, pidFile);
}

/** Forgets this server, unless the file speaks of another one by now. */
export function removeRecord(pidFile: string, server: RecordedProcess): void {
  if (parseRecord(pidFile)?.server.pid === server.pid) rmSync(pidFile, { force: true });
}

/** `undefined` where the platform cannot tell processes apart; then nothing is recorded, adopted or ended by pid. */
export function recordedProcess(pid: number): RecordedProcess | undefined {
  const identity = processIdentity(pid);
  return identity === undefined ? undefined : { pid, identity };
}

export const isAlive = ({ pid, identity }: RecordedProcess): boolean =>
  processIdentity(pid) === identity;

function parseRecord(pidFile: string): DevServerRecord | undefined {
  try {
    return recordSchema.safeParse(JSON.parse(readFileSync(pidFile, 'utf8'))).data;
  } catch {
    return undefined; // no file, or not ours to understand: as if there were none
  }
}
