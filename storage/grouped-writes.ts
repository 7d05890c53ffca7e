/**
 * Transactions that wait at the same moment share one COMMIT: with `synchronous=FULL` it is most of what a write costs, and it
 * blocks the process. Each keeps its own fate: one that throws is undone to its savepoint and leaves the others alone.
 */
import type Database from 'better-sqlite3';
import { commitError, sqliteError } from './sqlite-errors.js';

export interface GroupedWrites {
  /** Runs `work` with whatever else waits, at the latest after the current turn of the event loop; resolves after COMMIT. */
  add<T>(work: () => T): Promise<T>;
  /** Runs what waits now. */
  flush(): void;
}

interface Job {
  /** Does the work and gives what to call after COMMIT. */
  readonly run: () => () => void;
  readonly fail: (error: unknown) => void;
}

export function groupedWrites(db: Database.Database): GroupedWrites {
  const statements = new Map<string, Database.Statement>();
  const exec = (sql: string): void => {
    const known = statements.get(sql) ?? db.prepare(sql);
    statements.set(sql, known);
    known.run();
  };
  let waiting: Job[] = [];
  const flush = (): void => {
    const jobs = waiting;
    waiting = [];
    if (jobs.length > 0) commitTogether(db, exec, jobs);
  };
  return {
    add: (work) =>
      new Promise((resolve, reject) => {
        const run = (): (() => void) => {
          const result = work();
          return () => resolve(result);
        };
        const fail = (error: unknown): void => {
          // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what the body threw, as it was
          reject(sqliteError(error));
        };
        if (waiting.push({ run, fail }) === 1) setImmediate(flush);
      }),
    flush,
  };
}

function commitTogether(
  db: Database.Database,
  exec: (sql: string) => void,
  jobs: readonly Job[],
): void {
  const done: { readonly job: Job; readonly resolve: () => void }[] = [];
  const left = [...jobs];
  try {
    exec('BEGIN IMMEDIATE');
    for (let job = left.shift(); job !== undefined; job = left.shift()) {
      exec('SAVEPOINT job');
      try {
        const resolve = job.run();
        exec('RELEASE job');
        done.push({ job, resolve });
      } catch (error) {
        job.fail(error);
        // A full disk undoes the whole transaction at once: then nothing of the group stands.
        if (!db.inTransaction) throw error;
        exec('ROLLBACK TO job');
        exec('RELEASE job');
      }
    }
  } catch (error) {
    if (db.inTransaction) exec('ROLLBACK');
    for (const { job } of done) job.fail(error);
    for (const job of left) job.fail(error);
    return;
  }
  try {
    exec('COMMIT');
  } catch (error) {
    if (db.inTransaction) exec('ROLLBACK');
    for (const { job } of done) job.fail(commitError(error));
    return;
  }
  for (const { resolve } of done) resolve();
}
