/** What turns leave in a database: transactions, log and stored bytes. It does not depend on how busy the machine is. */
import { Client } from 'pg';
import { stack } from '../../config/stack.js';
import type { PregelGraph } from '../../engine/project/types.js';
import { openStorage } from '../../storage/open.js';
import type { StorageTarget } from '../../storage/open.js';
import { logged } from '../bytes-written.js';
import { ownTurns } from '../own-turn.js';
import { startPostgres } from '../postgres.js';
import { postgresWork, workSince } from '../postgres-work.js';
import { fixtureEnv } from '../product.js';
import { userMessage } from '../prose.js';
import type { Stage } from '../stage.js';
import { figure, kB } from '../table.js';
import type { Table } from '../table.js';
import { openSqlite } from '../../storage/sqlite-library.js';

/** Threads of one turn each, and turns of one thread. */
interface Counts {
  readonly threads: number;
  readonly turns: number;
}

/** What is measured over some work. */
interface Left {
  readonly transactions: number;
  readonly logBytes: number;
  readonly storedBytes: number;
}

interface Place {
  readonly name: string;
  readonly target: StorageTarget;
  /** Runs the work and says what it has left. */
  over(work: () => Promise<void>): Promise<Left>;
}

export async function storageTables(stage: Stage): Promise<readonly Table[]> {
  const counts = stage.quick ? { threads: 50, turns: 20 } : { threads: 1_000, turns: 200 };
  // What the graphs read, and not which project: the products of other rows would inherit that.
  const { EVERTHREAD_CONFIG: _, ...read } = fixtureEnv(stage);
  Object.assign(process.env, read);
  const { chat } = await import('../fixtures/graphs.js');
  const rows: string[][] = [];
  for (const open of [onSqlite, onPostgres]) {
    const place = await open(stage);
    stage.say(`${place.name}: ${counts.threads} threads, ${counts.turns} turns`);
    rows.push(...(await rowsOf(place, chat as unknown as PregelGraph, counts)));
  }
  return [
    {
      title: 'What a one-node turn leaves (turns one by one, without HTTP and Temporal)',
      columns: ['', 'transactions/turn', 'written to the log/turn', 'stored/turn'],
      rows,
    },
  ];
}

async function rowsOf(place: Place, graph: PregelGraph, counts: Counts): Promise<string[][]> {
  const parts = stack();
  const storage = await openStorage(place.target, { autoMigrate: true });
  parts.add(storage, () => storage.close());
  try {
    const first = ownTurns(storage, graph, 'warm');
    await first(userMessage(0, 1));
    const rest = await place.over(async () => {
      for (let n = 0; n < counts.threads; n += 1)
        await ownTurns(storage, graph, `rest-${n}`)(userMessage(n, 1));
    });
    const long = ownTurns(storage, graph, 'long');
    await long(userMessage(1, 1));
    const later = await place.over(async () => {
      for (let n = 2; n < counts.turns + 2; n += 1) await long(userMessage(1, n));
    });
    return [
      rowOf(`${place.name}, the first turn of a thread`, rest, counts.threads),
      rowOf(`${place.name}, a later turn`, later, counts.turns),
    ];
  } finally {
    await parts.stop();
  }
}

const rowOf = (name: string, left: Left, turns: number): string[] => [
  name,
  figure(left.transactions / turns),
  kB(left.logBytes / turns),
  kB(left.storedBytes / turns),
];

async function onSqlite(stage: Stage): Promise<Place> {
  const folder = stage.folder('storage');
  const file = `${folder}/everthread.db`;
  /** Pages in use; what the log holds is among them once it is emptied. */
  const stored = (): number => {
    const db = openSqlite(file);
    try {
      db.pragma('wal_checkpoint(TRUNCATE)');
      const pages = Number(db.pragma('page_count', { simple: true }));
      return pages * Number(db.pragma('page_size', { simple: true }));
    } finally {
      db.close();
    }
  };
  return {
    name: 'SQLite',
    target: { kind: 'sqlite', path: file },
    async over(work) {
      const before = stored();
      const { bytes, commits } = await logged(folder, work);
      return { transactions: commits, logBytes: bytes, storedBytes: stored() - before };
    },
  };
}

async function onPostgres(stage: Stage): Promise<Place> {
  const postgres = await startPostgres();
  stage.parts.add(postgres, () => postgres.stop());
  const url = `${postgres.url}/postgres`;
  const stored = async (): Promise<number> => {
    const client = new Client(url);
    await client.connect();
    try {
      const { rows } = await client.query<{ bytes: string }>(
        `SELECT sum(pg_total_relation_size(oid)) AS bytes FROM pg_class WHERE relname LIKE 'et\\_%' AND relkind = 'r'`,
      );
      return Number(rows[0]?.bytes);
    } finally {
      await client.end();
    }
  };
  return {
    name: 'PostgreSQL',
    target: { kind: 'postgres', url, poolSize: 4 },
    async over(work) {
      const [bytes, before] = [await stored(), await postgresWork(url)];
      await work();
      const { writing, logBytes } = workSince(before, await postgresWork(url), 1);
      return { transactions: writing, logBytes, storedBytes: (await stored()) - bytes };
    },
  };
}
