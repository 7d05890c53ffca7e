/** Numbered SQL migrations: applied once, in order, by one process at a time. */
import { createHash, randomInt } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { reachCrashPoint } from '../contracts/crash-point.js';
import { SchemaMismatch } from './port.js';
import { first, query, run, type Driver, type Tx } from './tx.js';

export interface Migration {
  readonly name: string;
  readonly statements: readonly string[];
  readonly checksum: string;
  /** It only adds: a build that does not know it reads and writes as before. */
  readonly additive: boolean;
}
type Applied = Pick<Migration, 'name' | 'checksum'> & Partial<Pick<Migration, 'additive'>>;

const folder = new URL('./migrations/', import.meta.url);

/** The migrations of this build, in order. */
export function knownMigrations(): readonly Migration[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.sql'));
  return files.sort().map((file) => {
    const text = readFileSync(new URL(file, folder), 'utf8');
    const statements = statementsOf(text);
    return {
      name: file.replace(/\.sql$/, ''),
      statements,
      additive: statements.every(isAdditive),
      checksum: createHash('sha256').update(text).digest('hex'),
    };
  });
}

/** A statement ends with a semicolon at the end of a line; comments stand on lines of their own. */
const statementsOf = (text: string): string[] =>
  text
    .replace(/^\s*--.*$/gm, '')
    .split(/;\s*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');

/** New tables, indexes that refuse nothing, and columns that an INSERT may leave out. */
const isAdditive = (statement: string): boolean =>
  /^CREATE (?:TABLE|INDEX)\b/.test(statement) ||
  /^ALTER TABLE \w+ ADD COLUMN (?!.*\bNOT NULL\b(?!.*\bDEFAULT\b))/s.test(statement);

/** 8 characters of 36: two databases of one installation never share a run (P1). */
export const newStoreId = (): string =>
  Array.from({ length: 8 }, () => randomInt(36).toString(36)).join('');

/** Brings the schema up to this build and gives the names of what it applied. All or nothing. */
export const migrate = (
  driver: Driver,
  known: readonly Migration[] = knownMigrations(),
): Promise<readonly string[]> => driver.write(() => migrateSchema(known));

function* migrateSchema(known: readonly Migration[]): Tx<readonly string[]> {
  yield* query('{migration lock}');
  const before = (yield* readSchema())?.migrations ?? (yield* createSchemaTable());
  refuseOthers(known, before);
  const missing = known.slice(before.length);
  for (const { statements } of missing) {
    for (const statement of statements) {
      yield* run(statement);
      reachCrashPoint('in-migration');
    }
  }
  if (missing.length === 0) return [];
  yield* run(
    `UPDATE et_schema SET migrations = $1, digest = $2`,
    JSON.stringify(known.map(({ name, checksum, additive }) => ({ name, checksum, additive }))),
    yield* liveDigest(),
  );
  return missing.map(({ name }) => name);
}

interface SchemaRow {
  readonly store: string;
  readonly migrations: readonly Applied[];
  readonly digest: string;
}

function* readSchema(): Tx<SchemaRow | undefined> {
  const table = yield* first<{ found: number }>('{has schema table}');
  if (table?.found !== 1) return undefined;
  const row = yield* first<{ store: string; migrations: string; digest: string }>(
    `SELECT store, migrations, digest FROM et_schema`,
  );
  return row && { ...row, migrations: JSON.parse(row.migrations) as Applied[] };
}

/** One row: which database this is, what was applied, and how the schema looked then. */
function* createSchemaTable(): Tx<readonly Applied[]> {
  yield* run(
    `CREATE TABLE et_schema (id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
       store TEXT NOT NULL, migrations TEXT NOT NULL, digest TEXT NOT NULL)`,
  );
  yield* run(
    `INSERT INTO et_schema (id, store, migrations, digest) VALUES (1, $1, '[]', '')`,
    newStoreId(),
  );
  return [];
}

function* liveDigest(): Tx<string> {
  const rows = yield* query<{ part: string }>('{live schema}');
  const parts = rows.map(({ part }) => part).sort();
  return createHash('sha256').update(parts.join('\n')).digest('hex');
}

/**
 * Gives the store id of a schema that this build can use.
 * @throws SchemaMismatch when it is not migrated, newer, or altered
 */
export const checkSchema = (driver: Driver): Promise<string> =>
  driver.read(function* () {
    const known = knownMigrations();
    const schema = yield* readSchema();
    const applied = schema?.migrations ?? [];
    refuseOthers(known, applied);
    const missing = known.slice(applied.length).map(({ name }) => name);
    if (schema === undefined || missing.length > 0) {
      throw new SchemaMismatch(
        `The database is not migrated (missing: ${missing.join(', ')}). Run "everthread migrate".`,
      );
    }
    if (schema.digest !== (yield* liveDigest())) {
      throw new SchemaMismatch(
        'The tables of the database were altered: columns or unique indexes are not those that the migrations made. ' +
          'Undo the change, or restore a backup.',
      );
    }
    return schema.store;
  });

/**
 * Gives the store id of any schema that this build can bring up to itself.
 * @throws SchemaMismatch when there is no Everthread store, or one that this build does not know
 */
export const storeIdOf = (driver: Driver): Promise<string> =>
  driver.read(function* () {
    const schema = yield* readSchema();
    if (schema === undefined) throw new SchemaMismatch('It holds no Everthread store.');
    refuseOthers(knownMigrations(), schema.migrations);
    return schema.store;
  });

function refuseOthers(known: readonly Migration[], applied: readonly Applied[]): void {
  const newer = applied.slice(known.length).find(({ additive }) => additive !== true);
  if (newer !== undefined) {
    throw new SchemaMismatch(
      `The database is newer than this build (it has migration ${newer.name}). Run a build that knows it.`,
    );
  }
  const altered = applied
    .slice(0, known.length)
    .find(({ name, checksum }, i) => known[i]?.name !== name || known[i].checksum !== checksum);
  if (altered !== undefined) {
    throw new SchemaMismatch(
      `Migration ${altered.name} of the database differs from this build's. ` +
        'Use the build that migrated it, or restore a backup.',
    );
  }
}
