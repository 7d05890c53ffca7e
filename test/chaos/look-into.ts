/** A connection of the harness's own to a database of the product. */
import type { StorageTarget } from '../../storage/open.js';
import { onPostgres } from '../support/database.js';
import type { Sql, SqlRow } from './read-store.js';
import { openSqlite } from '../../storage/sqlite-library.js';

export async function lookInto<T>(
  target: StorageTarget,
  work: (sql: Sql) => Promise<T>,
): Promise<T> {
  switch (target.kind) {
    case 'postgres':
      return await onPostgres(target.url, (client) => {
        client.on('error', () => undefined); // a restart of the server meets whoever is connected
        return work({
          dialect: 'postgres',
          query: async (sql) => (await client.query<Record<string, unknown>>(sql)).rows,
        });
      });
    case 'sqlite':
      return await onSqlite(target.path, work);
    case 'memory':
      throw new Error('nobody else can look into memory');
  }
}

async function onSqlite<T>(file: string, work: (sql: Sql) => Promise<T>): Promise<T> {
  const db = openSqlite(file, { timeout: 10_000 });
  try {
    return await work({
      dialect: 'sqlite',
      query: (sql) => {
        const statement = db.prepare(sql);
        if (statement.reader) return Promise.resolve(statement.all() as SqlRow[]);
        statement.run();
        return Promise.resolve([]);
      },
    });
  } finally {
    db.close();
  }
}
