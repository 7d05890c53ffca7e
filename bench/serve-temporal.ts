/** `npm run temporal`: a real Temporal server on a PostgreSQL of its own until Ctrl-C, for a look or for tests that run on it. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stack } from '../config/stack.js';
import { startPostgres } from './postgres.js';
import { startRealServer } from './real-server.js';

const say = (line: string): void => console.error(line);
const parts = stack();
const stop = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
try {
  const folder = await mkdtemp(path.join(tmpdir(), 'everthread-real-temporal-'));
  parts.add(folder, () => rm(folder, { recursive: true, force: true }));
  const postgres = await startPostgres();
  parts.add(postgres, () => postgres.stop());
  const postgresUrl = `${postgres.url}/postgres`;
  const server = await startRealServer({ folder, postgresUrl, say });
  parts.add(server, () => server.stop());
  console.log(`TEMPORAL_ADDRESS=${server.address}`);
  say(`its log is ${server.logFile}, its PostgreSQL ${postgresUrl}; Ctrl-C ends both`);
  await stop;
} finally {
  await parts.stop();
}
