/** A PostgreSQL that tests may stop and start. */
export interface PostgresServer {
  /** Of the server; add `/<database>`. */
  readonly url: string;
  /** Starts it again after a halt, with its data and on its port. */
  start(): Promise<void>;
  /** `SIGINT` is a fast shutdown, `SIGQUIT` an immediate one, which is what a crash looks like to others. */
  halt(signal: 'SIGINT' | 'SIGQUIT'): Promise<void>;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
}

export const brokerVariable: string;
export function startPostgres(): Promise<PostgresServer>;
