/** One PostgreSQL connection that is opened again whenever it breaks or goes silent. */
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { probed, watchSilence } from './postgres-silence.js';

/** A half-open connection tells nothing by itself: it is asked this often, and must answer within the time after it. */
const healthEveryMs = 2_000;
const answerTimeoutMs = 3_000;
const connectTimeoutMs = 5_000;
/** A goodbye that nobody hears is not waited for: a process that ends must not hang on it. */
const goodbyeMs = 1_000;
const firstReconnectMs = 100;
const longestReconnectMs = 5_000;

export interface SteadyClient {
  /** Resolves after the first try to connect, whatever came of it: what it carries may be lost, so nobody need wait. */
  readonly tried: Promise<void>;
  /** One statement after the other. @throws when there is no connection now */
  run(sql: string, values?: readonly unknown[]): Promise<void>;
  close(): Promise<void>;
}

/** `prepare` comes before anything else on each new connection. */
export function steadyClient(
  options: { readonly url: string; readonly onTrouble: (what: string) => void },
  prepare: (client: pg.Client) => Promise<void>,
): SteadyClient {
  let current: pg.Client | undefined;
  let closed = false;
  let line: Promise<unknown> = Promise.resolve();
  const open = async (): Promise<void> => {
    const { client, broken } = newClient(options.url);
    try {
      await client.connect();
      await watchSilence(client);
      await prepare(client);
    } catch (error) {
      discard(client);
      throw error;
    }
    if (closed) discard(client);
    else current = client; // before it may be found broken, or nobody opens the next one
    void broken.then(() => (client === current ? reopen() : undefined));
  };
  const reopen = async (): Promise<void> => {
    current = undefined;
    for (let pauseMs = firstReconnectMs; !closed; pauseMs = longer(pauseMs)) {
      const opened = await open().then(yes, no);
      if (opened) return;
      options.onTrouble('the relay connection is down; viewers are served by polling');
      await pause(pauseMs * (0.5 + Math.random()), undefined, { ref: false });
    }
  };
  const run = (sql: string, values: readonly unknown[] = []): Promise<void> => {
    const ran = line.then(async () => {
      if (current === undefined) throw new Error('the relay connection is down');
      const asked = current;
      try {
        await asked.query(sql, [...values]);
      } catch (error) {
        // Whoever waits in line behind it would wait as long. That it ends opens the next one.
        if (!(error instanceof pg.DatabaseError)) discard(asked);
        throw error;
      }
    });
    line = ran.catch(() => undefined);
    return ran;
  };
  const health = setInterval(
    () => void run('SELECT 1').catch(() => undefined),
    healthEveryMs,
  ).unref();
  return {
    tried: open().catch(() => void reopen()),
    run,
    async close() {
      closed = true;
      clearInterval(health);
      const last = current;
      current = undefined;
      await sayGoodbye(last);
    },
  };
}

const yes = (): boolean => true;
const no = (): boolean => false;

const longer = (pauseMs: number): number => Math.min(pauseMs * 2, longestReconnectMs);

const sayGoodbye = (client: pg.Client | undefined): Promise<unknown> =>
  Promise.race([client?.end(), pause(goodbyeMs, undefined, { ref: false })]);

/** Ends a connection that nobody has any use for. */
function discard(client: pg.Client): void {
  client.end().catch(() => undefined);
}

function newClient(url: string): { readonly client: pg.Client; readonly broken: Promise<void> } {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'everthread relay',
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: answerTimeoutMs,
    ...probed,
  });
  const broken = new Promise<void>((resolve) => {
    client.on('error', () => resolve());
    client.on('end', () => resolve());
  });
  return { client, broken };
}
