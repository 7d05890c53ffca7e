/** What must hold after a rehearsal: what clients were told against the rows, by the checker of the chaos runs, and fsck. */
import { once } from 'node:events';
import { checkAnswers } from '../../test/chaos/check-answers.js';
import { checkStore } from '../../test/chaos/check-store.js';
import type { Op, Store } from '../../test/chaos/history.js';
import { indexed } from '../../test/chaos/indexed.js';
import { noteChanges, readStore, type Sql } from '../../test/chaos/read-store.js';
import { onPostgres } from '../../test/support/database.js';
import { everthread } from '../../test/support/processes.js';

const onSql = <T>(url: string, work: (sql: Sql) => Promise<T>): Promise<T> =>
  onPostgres(url, (client) =>
    work({
      dialect: 'postgres',
      query: async (sql) => (await client.query<Record<string, unknown>>(sql)).rows,
    }),
  );

/** From now on every change of a turn's row is noted, so that "settled is final" is seen. */
export const watchRows = (url: string): Promise<void> => onSql(url, noteChanges);

/** Every turn that was accepted stands committed, once, in its order, as it was answered. @returns what does not */
export async function brokenPromises(
  url: string,
  ops: readonly Op[],
  turns: number,
): Promise<readonly string[]> {
  const store = await onSql(url, (sql) => readStore(sql, { scan: false }));
  const history = indexed({ ops, calls: [], store: keyed(store) }, 'end');
  const found = [...checkStore(history), ...checkAnswers(history)].map(
    ({ kind, detail }) => `${kind}: ${detail}`,
  );
  const committed = store.turns.filter(({ status }) => status === 'committed').length;
  if (committed !== turns || store.turns.length !== turns)
    found.push(`${store.turns.length} turns in the database, ${committed} of ${turns} committed`);
  return found;
}

/** People repeat themselves: what tells two turns of a dialogue apart is their key. */
function keyed(store: Store): Store {
  const place = (thread: string, seq: number): string => `${thread} ${seq}`;
  const keys = new Map(store.keys.map(({ thread, seq, key }) => [place(thread, seq), key]));
  const turns = store.turns.map((turn) => ({
    ...turn,
    text: keys.get(place(turn.thread, turn.seq)) ?? '',
  }));
  return { ...store, turns };
}

/** @returns what `everthread fsck` finds wrong */
export async function fsckFindings(
  url: string,
  temporal: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const proc = everthread(['fsck'], { EVERTHREAD_POSTGRES_URL: url, ...temporal });
  if (proc.alive()) await once(proc.child, 'exit');
  return proc.child.exitCode === 0 ? [] : [`fsck: ${proc.log().trim()}`];
}
