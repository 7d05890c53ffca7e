/** A transaction is a generator that yields statements; a driver runs it (DESIGN 8). It reads like the rule it implements. */

export type SqlValue = string | number | null | Uint8Array;
export type Row = Record<string, SqlValue>;

/** One statement. `sql` uses `$1 … $n` and the dialect words of `dialect.ts`: `{now}`, `{for update}`, `{for share}`, `{skip locked}`. */
export interface Statement {
  readonly sql: string;
  readonly params: readonly SqlValue[];
}
export interface Answer {
  readonly rows: readonly Row[];
  /** Rows changed by an INSERT, UPDATE or DELETE. */
  readonly changes: number;
}
export type Tx<T> = Generator<Statement, T, Answer>;

/** Yields one statement and gives its rows. The row type is the caller's promise about the SQL beside it. */
export function* query<R extends object = Row>(
  sql: string,
  ...params: readonly SqlValue[]
): Tx<readonly R[]> {
  const answer = yield { sql, params };
  return answer.rows as readonly R[];
}

/** The first row, or undefined. */
export function* first<R extends object = Row>(
  sql: string,
  ...params: readonly SqlValue[]
): Tx<R | undefined> {
  return (yield* query<R>(sql, ...params))[0];
}

/** Yields one writing statement and gives how many rows it changed. */
export function* run(sql: string, ...params: readonly SqlValue[]): Tx<number> {
  return (yield { sql, params }).changes;
}

/** Runs transactions of one database. */
export interface Driver {
  readonly dialect: 'sqlite' | 'postgres';
  /** Runs a writing transaction: `BEGIN IMMEDIATE` or READ COMMITTED with time-outs (P4). Rolls back when the body throws. */
  write<T>(body: () => Tx<T>): Promise<T>;
  /** Runs reads on one snapshot of the primary. */
  read<T>(body: () => Tx<T>): Promise<T>;
  /** Empties a log of changes that would still hold what a transaction has deleted (SQLite's). */
  emptyLog?(): Promise<void>;
  close(): Promise<void>;
}
