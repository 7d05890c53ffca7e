/** Which database holds the truth, and which of them a command may use. */
import type { Command } from './config.js';
import type { SettingReader } from './problems.js';
import * as shape from './shapes.js';

export type StorageConfig =
  | { readonly kind: 'memory' }
  | { readonly kind: 'sqlite'; readonly path: string }
  /** `url` holds a password: never print it; `describeStorage` says where it leads. */
  | { readonly kind: 'postgres'; readonly url: string; readonly poolSize: number };

/** Where the data is, without a password. */
export function describeStorage(storage: StorageConfig): string {
  switch (storage.kind) {
    case 'memory':
      return 'memory (lost at exit)';
    case 'sqlite':
      return `sqlite ${storage.path}`;
    case 'postgres': {
      const { hostname, port, pathname } = new URL(storage.url);
      return `postgres ${hostname || 'local socket'}${port && `:${port}`}${pathname}`;
    }
  }
}

export function resolveStorage(
  reader: SettingReader,
  command: Command,
  sqlitePath: (given: string | undefined) => string,
): StorageConfig {
  const kind = reader.read(
    'EVERTHREAD_STORAGE',
    shape.oneOf('memory', 'sqlite', 'postgres'),
    defaultStorage(reader, command),
  );
  const url = reader.read('EVERTHREAD_POSTGRES_URL', shape.postgresUrl, undefined);
  const poolSize = reader.read('EVERTHREAD_POSTGRES_POOL', shape.count(1, 1000), 10);
  const file = reader.read('EVERTHREAD_SQLITE_PATH', shape.path, undefined);
  if (kind !== 'postgres') {
    const why = refusalOfLocalStorage(command, kind);
    if (why !== undefined)
      reader.refuse({
        variable: 'EVERTHREAD_STORAGE',
        wrong: `is "${kind}": ${why}`,
        allowed: 'postgres',
      });
    return kind === 'memory' ? { kind } : { kind, path: sqlitePath(file) };
  }
  if (!reader.given('EVERTHREAD_POSTGRES_URL')) {
    reader.refuse({
      variable: 'EVERTHREAD_POSTGRES_URL',
      wrong: 'is not set, and storage is postgres',
      allowed: shape.postgresUrl.allowed,
    });
  }
  return { kind, url: url ?? '', poolSize };
}

/** Only a process of its own chooses a file of its own; `migrate` goes where the address points. */
function defaultStorage(reader: SettingReader, command: Command): StorageConfig['kind'] {
  switch (command) {
    case 'dev':
      return 'sqlite';
    case 'gateway':
    case 'worker':
      return 'postgres';
    case 'migrate':
    case 'operate':
      return reader.given('EVERTHREAD_POSTGRES_URL') ? 'postgres' : 'sqlite';
  }
}

function refusalOfLocalStorage(command: Command, kind: 'memory' | 'sqlite'): string | undefined {
  switch (command) {
    case 'dev':
      return undefined;
    case 'migrate':
      return kind === 'memory'
        ? 'there is nothing to migrate before the process starts'
        : undefined;
    case 'operate':
      return kind === 'memory'
        ? 'it ends with its process, and other commands cannot see it'
        : undefined;
    case 'gateway':
    case 'worker':
      return `gateway and worker are processes of their own and must share one database; ${kind} serves one process only (everthread dev)`;
  }
}
