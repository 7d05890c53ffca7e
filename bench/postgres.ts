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

/** Where it listens, and what stands in front of its command line, so that it runs in a network of its own. */
export interface PostgresPlace {
  readonly address: string;
  readonly port: number;
  readonly inside: readonly string[];
  /** `-c name=value` beside those of the tests. */
  readonly settings?: Readonly<Record<string, string>>;
}

export async function startPostgres(place?: PostgresPlace): Promise<Postgres> {
  // JavaScript, so that jest's global setup can run it as it is.
  const file = fileURLToPath(new URL('../test/support/postgres-server.mjs', import.meta.url));
  const module = (await import(file)) as {
    startPostgres(place?: PostgresPlace): Promise<Omit<Postgres, 'pid'>>;
  };
  const server = await module.startPostgres(place);
  return { ...server, pid: childrenNamed(process.pid, 'postgres')[0] ?? 0 };
}
