/** How it grows: workers, threads that rest, one very long thread, more threads at once than a worker keeps in memory. */
import type { Stage } from '../stage.js';
import type { Table } from '../table.js';
import { burstTable } from './scale-burst.js';
import { longTable } from './scale-long.js';
import { restingTable } from './scale-resting.js';
import { workersTable } from './scale-workers.js';

export async function scaleTables(stage: Stage): Promise<readonly Table[]> {
  const tables: Table[] = [];
  for (const table of [restingTable, burstTable, longTable, workersTable])
    tables.push(await table(stage));
  return tables;
}
