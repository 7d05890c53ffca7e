/** What a PostgreSQL server has done so far, all its databases together: a difference of two is what turns have cost. */
import { Client } from 'pg';

export interface PostgresWork {
  /** Transactions that wrote or locked a row: the others get no number. */
  readonly writing: number;
  /** All transactions, reads and polls included. */
  readonly all: number;
  readonly logBytes: number;
}

/** The statistics of transactions that have just ended come up to a second late; they are a few among thousands. */
export async function postgresWork(url: string): Promise<PostgresWork> {
  const client = new Client(url);
  await client.connect();
  try {
    const { rows } = await client.query<Record<keyof PostgresWork, string>>(
      `SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS writing,
         (SELECT sum(xact_commit + xact_rollback) FROM pg_stat_database)::text AS all,
         pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::text AS "logBytes"`,
    );
    const [row] = rows;
    return {
      writing: Number(row?.writing),
      all: Number(row?.all),
      logBytes: Number(row?.logBytes),
    };
  } finally {
    await client.end();
  }
}

export const workSince = (
  before: PostgresWork,
  after: PostgresWork,
  turns: number,
): PostgresWork => ({
  writing: (after.writing - before.writing) / turns,
  all: (after.all - before.all) / turns,
  logBytes: (after.logBytes - before.logBytes) / turns,
});
