/** Looks for planted text everywhere: each cell of each table, each event, memo and attribute of each workflow. */
import { WorkflowNotFoundError, type WorkflowHandle } from '@temporalio/client';
import { readFile } from 'node:fs/promises';
import type { TemporalConnection } from '../../temporal/connection.js';
import { grpcCode, grpcCodeOf } from '../../temporal/errors.js';
import type { StorageTarget } from '../../storage/open.js';
import { onPostgres } from '../support/database.js';
import { openSqlite } from '../../storage/sqlite-library.js';

/** The text as it could be stored: plain, hex, base64 at each of three offsets, UTF-16. */
export function disguises(text: string): readonly Buffer[] {
  const plain = Buffer.from(text);
  const base64 = [0, 1, 2].map((offset) => {
    const whole = Buffer.concat([Buffer.alloc(offset), plain]).toString('base64');
    // The first and last characters also depend on the neighbours.
    return whole.slice(offset === 0 ? 0 : 4, -4);
  });
  const hex = plain.toString('hex');
  const forms = [text, hex, hex.toUpperCase(), ...base64];
  return [...forms.map((form) => Buffer.from(form)), Buffer.from(text, 'utf16le')];
}

const holds = (bytes: Uint8Array, forms: readonly Buffer[]): boolean =>
  forms.some((form) =>
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(form),
  );

const cellHolds = (cell: unknown, forms: readonly Buffer[]): boolean => {
  if (cell instanceof Uint8Array) return holds(cell, forms);
  return cell !== null && holds(Buffer.from(JSON.stringify(cell)), forms);
};

/** `table.column` of each place that holds the text. */
export async function findInDatabase(
  target: StorageTarget,
  forms: readonly Buffer[],
): Promise<readonly string[]> {
  const tables = await readAll(target);
  const found = tables.flatMap(({ table, rows }) =>
    rows.flatMap((row) =>
      Object.entries(row).flatMap(([column, cell]) =>
        cellHolds(cell, forms) ? [`${table}.${column}`] : [],
      ),
    ),
  );
  return [...new Set(found)];
}

/** SQLite's files that hold the text: free pages and the log count, too. PostgreSQL's are its own affair until VACUUM. */
export async function findInFiles(
  target: StorageTarget,
  forms: readonly Buffer[],
): Promise<readonly string[]> {
  if (target.kind !== 'sqlite') return [];
  const found: string[] = [];
  for (const file of [target.path, `${target.path}-wal`]) {
    if (holds(await readFile(file), forms)) found.push(file);
  }
  return found;
}

interface Table {
  readonly table: string;
  readonly rows: readonly Record<string, unknown>[];
}

async function readAll(target: StorageTarget): Promise<readonly Table[]> {
  switch (target.kind) {
    case 'memory':
      throw new Error('a database in memory cannot be looked at from outside');
    case 'sqlite': {
      const db = openSqlite(target.path, { readonly: true });
      try {
        const names = db
          .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`)
          .pluck()
          .all();
        return (names as string[]).map((table) => ({
          table,
          rows: db.prepare(`SELECT * FROM "${table}"`).all() as Table['rows'],
        }));
      } finally {
        db.close();
      }
    }
    case 'postgres':
      return await onPostgres(target.url, async (client) => {
        const { rows: names } = await client.query<{ name: string }>(
          `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables
           WHERE table_schema NOT IN ('pg_catalog', 'information_schema')`,
        );
        const tables: Table[] = [];
        for (const { name } of names) {
          const { rows } = await client.query<Record<string, unknown>>(`SELECT * FROM ${name}`);
          tables.push({ table: name, rows });
        }
        return tables;
      });
  }
}

/** `workflow id / run id` of each run whose history, memo, attributes or summary hold the text. */
export async function findInTemporal(
  { client }: TemporalConnection,
  forms: readonly Buffer[],
): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const run of client.workflow.list()) {
    const parts = [
      run.raw,
      ...(await detailsOf(client.workflow.getHandle(run.workflowId, run.runId))),
    ];
    const texts = parts.flatMap(bytesOf);
    if (texts.some((bytes) => holds(bytes, forms))) found.push(`${run.workflowId} / ${run.runId}`);
  }
  return found;
}

/** Nothing of a run that the eraser has taken since it was listed: the server no longer has it. */
async function detailsOf(handle: WorkflowHandle): Promise<readonly unknown[]> {
  try {
    return [await handle.fetchHistory(), (await handle.describe()).raw];
  } catch (error) {
    // `fetchHistory` gives the server's own error, `describe` the client's.
    if (error instanceof WorkflowNotFoundError || grpcCodeOf(error) === grpcCode.notFound)
      return [];
    throw error;
  }
}

/** Every string and byte array of a decoded message, however deep. */
function bytesOf(value: unknown): readonly Uint8Array[] {
  if (value instanceof Uint8Array) return [value];
  if (typeof value === 'string') return [Buffer.from(value)];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) => [Buffer.from(name), ...bytesOf(part)]);
}
