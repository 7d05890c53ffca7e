/** Runs transactions on PostgreSQL: one client each, READ COMMITTED, with time-outs (P4). */
import pg from 'pg';
import { translator, type Translated } from './dialect.js';
import { CommitUnknown, StorageUnavailable } from './port.js';
import { isRetryable, postgresError, wasRefused } from './postgres-errors.js';
import { refusePooler } from './postgres-pooler.js';
import { probed, watchSilence } from './postgres-silence.js';
import { startError } from './postgres-start.js';
import type { Answer, Driver, Row, SqlValue, Statement, Tx } from './tx.js';

export interface PostgresOptions {
  readonly url: string;
  /** Connections for turns; readers get as many of their own, so that a flood of polls never starves a commit. */
  readonly poolSize: number;
  readonly timeoutMs?: number;
}

/** A frozen worker must not hold a thread (P4). */
const defaultTimeoutMs = 5_000;
/** A deadlock's victim is run again; three in a row mean something else is wrong. */
const maxTries = 4;

/** @throws StorageUnavailable; Error when it refuses us, or the address is a transaction pooler's */
export async function postgresDriver(options: PostgresOptions): Promise<Driver> {
  const turns = openPool(options);
  const readers = openPool(options);
  const run = runner();
  const close = async (): Promise<void> => {
    await Promise.all([turns.end(), readers.end()]);
  };
  try {
    await refusePooler(turns);
  } catch (error) {
    await close();
    throw startError(options.url, error);
  }
  const onClient = async <T>(pool: pg.Pool, how: Mode, body: () => Tx<T>): Promise<T> => {
    for (let tries = 1; ; tries++) {
      try {
        return await transaction({ pool, how, body, run });
      } catch (error) {
        if (tries === maxTries || !isRetryable(error)) throw postgresError(error);
      }
    }
  };
  return {
    dialect: 'postgres',
    write: (body) => onClient(turns, 'write', body),
    read: (body) => onClient(readers, 'read', body),
    close,
  };
}

/** bigint comes as a number: ours are counters and milliseconds, far below 2^53. */
const numbers = new pg.TypeOverrides();
numbers.setTypeParser(pg.types.builtins.INT8, Number);

function openPool({ url, poolSize, timeoutMs = defaultTimeoutMs }: PostgresOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: poolSize,
    types: numbers,
    connectionTimeoutMillis: defaultTimeoutMs,
    application_name: 'everthread',
    ...probed,
    // A server that is gone without a word: the client gives up a little after the server would have.
    query_timeout: timeoutMs + 1_000,
    // The pool waits for what this returns, which its types do not say.
    onConnect: (client): unknown => limitTime(client, timeoutMs),
  });
  // A client whose socket dies emits 'error' while it is checked out, too; without a listener the process exits.
  const ignore = (): void => undefined;
  pool.on('error', ignore);
  pool.on('connect', (client) => client.on('error', ignore));
  return pool;
}

/** By SET and not at start-up: poolers refuse start-up parameters, and ours should be the error that explains them. */
const limitTime = async (client: pg.ClientBase, timeoutMs: number): Promise<void> => {
  await client.query(
    `SET statement_timeout = ${timeoutMs}; SET lock_timeout = ${timeoutMs};
     SET idle_in_transaction_session_timeout = ${timeoutMs}`,
  );
  await watchSilence(client);
};

type Mode = 'write' | 'read';
type Run = (client: pg.PoolClient, statement: Statement) => Promise<Answer>;

const beginnings: Record<Mode, string> = {
  write: 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE',
  read: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
};

async function transaction<T>(work: {
  readonly pool: pg.Pool;
  readonly how: Mode;
  readonly body: () => Tx<T>;
  readonly run: Run;
}): Promise<T> {
  const { pool, how, body, run } = work;
  const client = await connect(pool);
  let usable = true;
  try {
    await client.query(beginnings[how]);
    const result = await drive(body(), (statement) => run(client, statement));
    usable = false; // until COMMIT has answered
    await commit(client, how);
    usable = true;
    return result;
  } catch (error) {
    // A connection in an unknown state is never used again.
    if (usable) usable = await client.query('ROLLBACK').then(...[() => true, () => false]);
    throw error;
  } finally {
    client.release(!usable);
  }
}

async function connect(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw new StorageUnavailable('PostgreSQL gives no connection', { cause: error });
  }
}

async function commit(client: pg.PoolClient, how: Mode): Promise<void> {
  try {
    await client.query('COMMIT');
  } catch (error) {
    if (how === 'read' || wasRefused(error)) throw error;
    throw new CommitUnknown('PostgreSQL did not confirm a COMMIT', { cause: error });
  }
}

async function drive<T>(body: Tx<T>, run: (statement: Statement) => Promise<Answer>): Promise<T> {
  let step = body.next();
  while (step.done !== true) {
    let answer: Answer;
    try {
      answer = await run(step.value);
    } catch (error) {
      step = body.throw(error);
      continue;
    }
    step = body.next(answer);
  }
  return step.value;
}

/** Each text is prepared once per connection under a name: planning costs more than running most of them. */
function runner(): Run {
  const translate = translator('postgres');
  const named = new Map<string, { readonly name: string } & Translated>();
  return async (client, { sql, params }) => {
    let found = named.get(sql);
    if (found === undefined) {
      found = { name: `et${named.size}`, ...translate(sql) };
      named.set(sql, found);
    }
    const { name, text } = found;
    const result = await client.query<Row>({ name, text, values: params as SqlValue[] });
    return { rows: result.rows, changes: result.rowCount ?? 0 };
  };
}
