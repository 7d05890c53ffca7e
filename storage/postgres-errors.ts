/** Which of the port's errors a PostgreSQL error is. */
import { types } from 'node:util';
import pg from 'pg';
import { CommitUnknown, StorageUnavailable, Unstorable } from './port.js';

const stateOf = (error: unknown): string | undefined =>
  error instanceof pg.DatabaseError ? error.code : undefined;

/** Deadlock or serialisation failure: the server has rolled back, and the same transaction may well pass now. */
export const isRetryable = (error: unknown): boolean => stateOf(error)?.startsWith('40') ?? false;

/**
 * The server answered COMMIT with an error, so it did not happen. An ending backend (57P0x) or a broken connection (08)
 * says nothing about it.
 */
export function wasRefused(error: unknown): boolean {
  const state = stateOf(error);
  return state !== undefined && !/^(57|08|XX)/.test(state);
}

/** Down, ending, full, busy, read-only after a failover, or over a time limit: later it may work. */
const unavailable = /^(08|53|57|58|55P03|25P03|25P04|25006|40)/;
/** The values themselves: out of range, not text, too large. */
const unstorable = /^(22|23|54)/;

export function postgresError(error: unknown): unknown {
  if (error instanceof StorageUnavailable || error instanceof CommitUnknown) return error;
  const state = stateOf(error);
  if (state === undefined) return isNetwork(error) ? down(error) : error;
  if (unavailable.test(state)) return down(error, state);
  if (unstorable.test(state)) {
    return new Unstorable(`PostgreSQL cannot store this (${state})`, { cause: error });
  }
  return error;
}

const down = (error: unknown, state?: string): StorageUnavailable =>
  new StorageUnavailable(`PostgreSQL is not available${state === undefined ? '' : ` (${state})`}`, {
    cause: error,
  });

/** pg reports a dead socket by a system code, or by one of these sentences without any code; all addresses of a name in one. */
const isNetwork = (error: unknown): boolean =>
  types.isNativeError(error) &&
  ('errors' in error && Array.isArray(error.errors)
    ? error.errors.every(isNetwork)
    : 'syscall' in error ||
      /terminated|timeout|not queryable|closed|ended|ECONN|EPIPE/i.test(error.message));
