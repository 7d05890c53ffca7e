// Builds what child processes run (dist/ and the workflow bundle), once for the whole run, and offers a PostgreSQL.
import { execFileSync } from 'node:child_process';
import { brokerVariable, startPostgresBroker } from './postgres-server.mjs';

export default async function globalSetup() {
  execFileSync(process.execPath, ['scripts/build.mjs', '--quiet'], { stdio: 'inherit' });
  globalThis.everthreadPostgres = await startPostgresBroker();
  process.env[brokerVariable] = globalThis.everthreadPostgres.url;
}
