/** What is done about a peer of PostgreSQL that is gone without a word: a host was lost, or its packets are dropped. */
import pg from 'pg';

/** Our side: an idle connection is probed after this, and ended when ten probes, a second apart, are not answered. */
export const probed = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 } as const;

/**
 * The server's side of a lost client would stay for two hours: it counts against `max_connections`, and a listener that takes
 * nothing holds up every NOTIFY of the server. After this it ends within half a minute.
 */
const endSilentClients = `SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;
  SET tcp_user_timeout = 25000`;

/** First thing on a new connection. A server whose system cannot do this goes on without. */
export async function watchSilence(client: pg.ClientBase): Promise<void> {
  try {
    await client.query(endSilentClients);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
  }
}
