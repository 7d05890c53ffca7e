/** Finds out whether the address is a transaction pooler's: session state and prepared statements would be lost there. */
import pg from 'pg';

/** Rounds of the probe: a pooler of transactions under load moves us within a few. */
const rounds = 8;

export class PoolerRefused extends Error {
  override readonly name = 'PoolerRefused';
}

/** @throws PoolerRefused when one session is moved between server processes, or two sessions share one */
export async function refusePooler(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  try {
    const pid = await backendOf(client);
    // A server announces its process id when a session starts; a pooler announces a number of its own.
    if (pid === announced(client)) return;
    if (await moves(client, pid, pool.options)) {
      throw new PoolerRefused(
        'EVERTHREAD_POSTGRES_URL leads to a transaction pooler (such as PgBouncer with pool_mode = transaction). ' +
          'Give the direct address of the server, or pool_mode = session.',
      );
    }
  } finally {
    client.release();
  }
}

const announced = (client: pg.PoolClient): unknown => (client as { processID?: unknown }).processID;

async function backendOf(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid ?? 0;
}

/** A second session holds a server in a transaction: in a pool of transactions it may hold the first one's. */
async function moves(
  client: pg.PoolClient,
  pid: number,
  options: pg.PoolOptions,
): Promise<boolean> {
  const other = new pg.Client(options);
  other.on('error', () => undefined);
  await other.connect();
  try {
    for (let round = 0; round < rounds; round++) {
      await other.query('BEGIN');
      const shared = (await backendOf(other)) === pid;
      const moved = !shared && (await backendOf(client)) !== pid;
      await other.query('ROLLBACK');
      if (shared || moved) return true;
    }
    return false;
  } finally {
    await other.end();
  }
}
