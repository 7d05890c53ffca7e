/** The one place where SQLite and PostgreSQL differ: parameters, the dialect words of a statement, and the catalogue. */
import type { SqlValue } from './tx.js';

export type Dialect = 'sqlite' | 'postgres';

/** What stands for each dialect word. SQLite has one writer at a time, so its row locks are empty. */
const words: Readonly<Record<string, Readonly<Record<Dialect, string>>>> = {
  /** Milliseconds since the epoch by the database's clock, of this moment and not of the transaction's start. */
  now: {
    sqlite: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
    postgres: 'CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)',
  },
  'for update': { sqlite: '', postgres: 'FOR UPDATE' },
  'for update of t': { sqlite: '', postgres: 'FOR UPDATE OF t' },
  'for share': { sqlite: '', postgres: 'FOR SHARE' },
  'skip locked': { sqlite: '', postgres: 'SKIP LOCKED' },
  bytes: { sqlite: 'BLOB', postgres: 'BYTEA' },
  /** What the assistant says in the messages of turn `t`. */
  spoken: {
    sqlite: `(SELECT group_concat(m.value ->> '$.content', '' ORDER BY m.key) FROM json_each(t.messages) m
      WHERE m.value ->> '$.role' = 'assistant')`,
    postgres: `(SELECT string_agg(m.value ->> 'content', '' ORDER BY m.n)
      FROM json_array_elements(t.messages::json) WITH ORDINALITY AS m (value, n) WHERE m.value ->> 'role' = 'assistant')`,
  },
  /** Keys compare byte by byte in both; a locale's order costs PostgreSQL several times as much. */
  key: { sqlite: 'TEXT NOT NULL', postgres: 'TEXT COLLATE "C" NOT NULL' },
  /** One migration at a time; SQLite has `BEGIN IMMEDIATE` for it. The number is arbitrary and ours. */
  'migration lock': { sqlite: 'SELECT 1', postgres: 'SELECT pg_advisory_xact_lock(4711021)' },
  'has schema table': {
    sqlite: "SELECT count(*) AS found FROM sqlite_schema WHERE name = 'et_schema'",
    postgres: "SELECT count(to_regclass('et_schema')) AS found",
  },
  /** Columns and unique indexes of our tables, by name: what a statement of ours can miss. */
  'live schema': {
    sqlite: `SELECT t.name || '.' || c.name AS part FROM sqlite_schema t, pragma_table_info(t.name) c
      WHERE t.type = 'table' AND t.name LIKE 'et!_%' ESCAPE '!'
      UNION ALL SELECT 'unique ' || name FROM sqlite_schema
      WHERE type = 'index' AND tbl_name LIKE 'et!_%' ESCAPE '!' AND (sql IS NULL OR sql LIKE 'CREATE UNIQUE%')`,
    postgres: `SELECT table_name || '.' || column_name AS part FROM information_schema.columns
      WHERE table_schema = current_schema() AND table_name LIKE 'et!_%' ESCAPE '!'
      UNION ALL SELECT 'unique ' || indexname FROM pg_indexes
      WHERE schemaname = current_schema() AND tablename LIKE 'et!_%' ESCAPE '!' AND indexdef LIKE 'CREATE UNIQUE%'`,
  },
};

/** A statement as one database takes it. */
export interface Translated {
  readonly text: string;
  /** Puts parameters in the order of their marks; undefined when they stand in order already. */
  readonly arrange?: (params: readonly SqlValue[]) => SqlValue[];
}

/** Translates each text once. Texts are few: they come from the code, and lists are chunked. */
export function translator(dialect: Dialect): (sql: string) => Translated {
  const known = new Map<string, Translated>();
  return (sql) => {
    let found = known.get(sql);
    if (found === undefined) known.set(sql, (found = translate(sql, dialect)));
    return found;
  };
}

function translate(sql: string, dialect: Dialect): Translated {
  const text = sql.replace(/\{([a-z ]+)\}/g, (_, word: string) => {
    const found = words[word];
    if (found === undefined) throw new Error(`"{${word}}" is not a dialect word`);
    return found[dialect];
  });
  return dialect === 'postgres' ? { text } : positional(text);
}

/** `$2 … $1 … $2` becomes `? … ? … ?` with parameters 2, 1, 2: positional binding is the fast path of SQLite. */
function positional(text: string): Translated {
  const order: number[] = [];
  const marked = text.replace(/\$(\d+)/g, (_, n: string) => {
    order.push(Number(n) - 1);
    return '?';
  });
  if (order.every((from, to) => from === to)) return { text: marked };
  return { text: marked, arrange: (params) => order.map((i) => params[i] ?? null) };
}
