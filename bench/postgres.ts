/** A real PostgreSQL for a script: the one that the tests start. */
import { fileURLToPath } from 'node:url';
import { childrenNamed } from './cpu-time.js';

export interface Postgres {
  /** Without a database name. */
  readonly url: string;
  /** Its first process, parent of all others. */
  readonly pid: number;
  stop(): Promise<void>;
}

export async function startPostgres(): Promise<Postgres> {
  // JavaScript, so that jest's global setup can run it as it is.
  const file = fileURLToPath(new URL('../test/support/postgres-server.mjs', import.meta.url));
  const module = (await import(file)) as { startPostgres(): Promise<Omit<Postgres, 'pid'>> };
  const server = await module.startPostgres();
  return { ...server, pid: childrenNamed(process.pid, 'postgres')[0] ?? 0 };
}
