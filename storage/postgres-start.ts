/** What a person is told about a PostgreSQL that cannot be opened: where it is, shown without user and password, and why. */
import { CommitUnknown, StorageUnavailable } from './port.js';
import { postgresError } from './postgres-errors.js';
import { PoolerRefused } from './postgres-pooler.js';

/** @returns StorageUnavailable when it may be there later; else an Error that a person must act on */
export function startError(url: string, error: unknown): unknown {
  if (error instanceof PoolerRefused) return error;
  const known = postgresError(error);
  const { hostname, port, pathname } = new URL(url);
  const where = `${hostname || 'a local socket'}${port && `:${port}`}${pathname}`;
  const text = `PostgreSQL at ${where} gives no connection: ${reasonOf(error)}. Check that it runs, and EVERTHREAD_POSTGRES_URL.`;
  return isPassing(known)
    ? new StorageUnavailable(text, { cause: error })
    : new Error(text, { cause: error });
}

/** Whether waiting may help. A COMMIT of unknown outcome at the start is a migration's, which may be done again. */
export const isPassing = (error: unknown): boolean =>
  error instanceof StorageUnavailable || error instanceof CommitUnknown;

/** Our own errors say what it means to a caller; their causes say what happened. */
function reasonOf(error: unknown): string {
  if (isPassing(error) && error instanceof Error && error.cause !== undefined)
    return reasonOf(error.cause);
  // A name with several addresses fails with one error for all of them, which says nothing itself.
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ');
  return error instanceof Error ? error.message : String(error);
}
