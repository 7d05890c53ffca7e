/** `npm run bench`: what a turn costs beyond its model, next to what Temporal and one commit cost at least. */
import { mkdirSync } from 'node:fs';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { profileTables } from './cpu-profile.js';
import { arrivalTables } from './rows/arrival.js';
import { buildsTables } from './rows/builds.js';
import { fairnessTable, rateTable } from './rows/fairness.js';
import { growthTables } from './rows/growth.js';
import { loadTables } from './rows/load.js';
import { memoryTables } from './rows/memory.js';
import { postgresTables } from './rows/postgres.js';
import { burstTable } from './rows/scale-burst.js';
import { longTable } from './rows/scale-long.js';
import { restingTable } from './rows/scale-resting.js';
import { workersTable } from './rows/scale-workers.js';
import { storageTables } from './rows/storage.js';
import { startTables } from './rows/start.js';
import { tokenTables } from './rows/token.js';
import { tracesTables } from './rows/traces.js';
import { openStage } from './stage.js';
import type { Stage } from './stage.js';
import { printed } from './table.js';
import type { Table } from './table.js';

type Row = (stage: Stage) => Promise<readonly Table[]>;

const single =
  (table: (stage: Stage) => Promise<Table>): Row =>
  async (stage) => [await table(stage)];

const usual: Readonly<Record<string, Row>> = {
  load: loadTables,
  growth: growthTables,
  token: tokenTables,
  arrival: arrivalTables,
  start: startTables,
  memory: memoryTables,
  postgres: postgresTables,
  builds: buildsTables,
  traces: tracesTables,
  storage: storageTables,
  fairness: single(fairnessTable),
  rate: single(rateTable),
};

/** Long ones, only when asked for; `scale` names them all. */
const scale: Readonly<Record<string, Row>> = {
  resting: single(restingTable),
  burst: single(burstTable),
  long: single(longTable),
  workers: single(workersTable),
};

const rows: Readonly<Record<string, Row>> = { ...usual, ...scale };

const help = `npm run bench -- [--quick] [--only <row>] [--real-temporal] [--cpu-prof <folder>]

  --quick      about a minute: shows that it runs; its figures mean nothing
  --only       one of: ${Object.keys(rows).join(', ')}, scale (may be given again)
  --real-temporal  for the row "postgres": a real Temporal server on the same PostgreSQL (built once, needs Go)
  --cpu-prof   writes CPU profiles of the one-node load into the folder and prints where the time went

  load      turns/s, latency and CPU per turn at 1, 16 and 64 threads, beside the Temporal floor and express + one commit
  growth    turn 10 against turn 1000; restart and kill -9
  token     from the model's token to the client's event
  arrival   tokens of nodes that block, raw and through nginx, and what they cost their neighbours
  start     from the command to ready
  memory    one thread of 300 turns within a budget: tokens and time of a turn, what is still known
  postgres  gateway and worker as processes of their own
  builds    CPU per turn of this build against the packed one of the deploy tests
  traces    CPU per turn with traces against without
  storage   what turns leave in SQLite and PostgreSQL: transactions, log, stored bytes
  fairness  a small tenant's wait beside a busy one
  rate      a task queue's rate over two workers

Only when asked for, half an hour together; scale is all four:
  resting   10,000 threads touched once, awake and asleep
  burst     200 threads at once over a small cache
  long      one thread of 5,000 turns
  workers   the same load on 1, 2 and 4 workers

The table goes to stdout, progress to stderr. Run it on an otherwise idle machine: it takes about ten minutes.`;

/** Above this, something else on the machine is being measured, too. */
const quietLoad = 1;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean' },
      quick: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true },
      'real-temporal': { type: 'boolean', default: false },
      'cpu-prof': { type: 'string' },
    },
  });
  if (values.help === true) {
    console.log(help);
    return;
  }
  const wished = values.only ?? Object.keys(usual);
  const chosen = wished.flatMap((name) => (name === 'scale' ? Object.keys(scale) : [name]));
  for (const name of chosen)
    if (!(name in rows))
      throw new Error(`There is no row "${name}". Rows: ${Object.keys(rows).join(', ')}.`);
  const profiles = values['cpu-prof'];
  if (profiles !== undefined) mkdirSync(profiles, { recursive: true });
  const realTemporal = values['real-temporal'];
  const stage = await openStage({ quick: values.quick, profiles, realTemporal });
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void stage.parts.stop().finally(() => process.exit(1)));
  const [busy = 0] = loadavg();
  if (busy > quietLoad)
    stage.say(`the machine is busy (load ${busy.toFixed(1)}): do not believe the figures`);
  try {
    for (const name of chosen)
      for (const table of (await rows[name]?.(stage)) ?? []) console.log(printed(table));
    if (profiles !== undefined)
      for (const table of profileTables(profiles)) console.log(printed(table));
  } finally {
    await stage.parts.stop();
  }
}

await main();
