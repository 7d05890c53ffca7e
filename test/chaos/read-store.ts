/** The store as it stands, by plain SQL of its own: the checker must not trust the product's reading of it. */
import type { TurnStatus } from '../../contracts/protocol.js';
import { canariesIn, type Store } from './history.js';

export type SqlRow = Readonly<Record<string, unknown>>;

/** A database as the harness sees it. */
export interface Sql {
  readonly dialect: 'sqlite' | 'postgres';
  query(sql: string): Promise<readonly SqlRow[]>;
}

/** Notes every change of a turn's row that matters, so that "settled is final" is seen and not guessed. */
export async function noteChanges({ dialect, query }: Sql): Promise<void> {
  const columns = 'turn_id, status, fence, version, run_id, activity_id, attempt';
  const values = columns.replace(/\w+/g, (name) => `NEW.${name}`);
  const insert = `INSERT INTO chaos_changes (${columns}) VALUES (${values})`;
  const number = dialect === 'postgres' ? 'BIGSERIAL' : 'INTEGER';
  await query(
    `CREATE TABLE chaos_changes (n ${number} PRIMARY KEY, turn_id TEXT, status TEXT, fence BIGINT, version BIGINT,
       run_id TEXT, activity_id BIGINT, attempt BIGINT)`,
  );
  const when = 'AFTER UPDATE OF status, fence, version ON et_turns';
  if (dialect === 'sqlite') {
    await query(`CREATE TRIGGER chaos_note ${when} BEGIN ${insert}; END`);
    return;
  }
  await query(
    `CREATE FUNCTION chaos_note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${insert}; RETURN NULL; END $$`,
  );
  await query(`CREATE TRIGGER chaos_note ${when} FOR EACH ROW EXECUTE FUNCTION chaos_note()`);
}

export async function storeId({ query }: Sql): Promise<string> {
  const [row] = await query('SELECT store FROM et_schema');
  return String(row?.store);
}

export async function openTurns({ query }: Sql): Promise<number> {
  const [row] = await query('SELECT count(*) AS n FROM et_turns WHERE settled_at_ms IS NULL');
  return Number(row?.n);
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const whole = (value: unknown): number => Number(value);
const orNull = (value: unknown): number | null => (value === null ? null : Number(value));
const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** What a turn was sent with; an erased row holds nothing. */
function inputText(input: unknown): string {
  if (typeof input !== 'string' || input === '') return '';
  const { text: message, value } = JSON.parse(input) as { text?: string; value?: unknown };
  return message ?? text(value);
}

/** @param options.scan also looks for canaries in every column of every table */
export async function readStore(sql: Sql, options: { readonly scan: boolean }): Promise<Store> {
  const [begin, level] = ['BEGIN', 'ISOLATION LEVEL REPEATABLE READ READ ONLY'];
  await sql.query(sql.dialect === 'postgres' ? `${begin} ${level}` : begin);
  const store = await readTables(sql, options.scan);
  await sql.query('COMMIT');
  return store;
}

async function readTables(sql: Sql, scanned: boolean): Promise<Store> {
  const threads = await sql.query('SELECT * FROM et_threads');
  const turns = await sql.query('SELECT * FROM et_turns');
  const keys = await sql.query('SELECT thread_id, epoch, idempotency_key, seq FROM et_keys');
  const changes = await sql.query('SELECT * FROM chaos_changes ORDER BY n');
  return {
    threads: threads.map((row) => ({
      thread: text(row.thread_id),
      epoch: whole(row.epoch),
      deleted: whole(row.deleted) === 1,
      version: whole(row.version),
      nextSeq: whole(row.next_seq),
      settledSeq: whole(row.settled_seq),
    })),
    turns: turns.map((row) => ({
      thread: text(row.thread_id),
      epoch: whole(row.epoch),
      seq: whole(row.seq),
      turnId: text(row.turn_id),
      status: row.status as TurnStatus,
      fence: whole(row.fence),
      baseVersion: orNull(row.base_version),
      version: orNull(row.version),
      text: inputText(row.input),
      response: text(row.response),
      failure: textOrNull(row.failure_code),
    })),
    keys: keys.map((row) => ({
      thread: text(row.thread_id),
      epoch: whole(row.epoch),
      key: text(row.idempotency_key),
      seq: whole(row.seq),
    })),
    changes: changes.map((row) => ({
      turnId: text(row.turn_id),
      status: row.status as TurnStatus,
      fence: whole(row.fence),
      version: orNull(row.version),
      runId: textOrNull(row.run_id),
      activityId: orNull(row.activity_id),
      attempt: orNull(row.attempt),
    })),
    canaries: scanned ? await scan(sql) : [],
  };
}

async function scan(sql: Sql): Promise<Store['canaries']> {
  const tables = await sql.query(
    sql.dialect === 'postgres'
      ? `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'`
      : `SELECT name FROM sqlite_master WHERE type = 'table'`,
  );
  const found: Store['canaries'][number][] = [];
  for (const table of tables.map(({ name }) => String(name))) {
    const seen = new Set<string>();
    for (const row of await sql.query(`SELECT * FROM ${table}`)) {
      for (const value of Object.values(row)) {
        const shown = value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : value;
        if (typeof shown === 'string') for (const canary of canariesIn(shown)) seen.add(canary);
      }
    }
    for (const canary of seen) found.push({ table, canary });
  }
  return found;
}
