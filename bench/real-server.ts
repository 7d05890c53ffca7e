/** The compose file's Temporal server on a PostgreSQL of this run, set up as an operator does: for the bench and for whoever tests on it. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { everthread } from '../test/support/processes.js';
import { readCompose } from './rehearsal/compose-file.js';
import { startRealTemporal, temporalPrograms } from './rehearsal/real-temporal.js';
import type { RealTemporal } from './rehearsal/real-temporal.js';

/** @throws when there is no such server here, and none can be built */
export async function startRealServer(given: {
  readonly folder: string;
  readonly postgresUrl: string;
  readonly say: (line: string) => void;
}): Promise<RealTemporal> {
  const { folder, postgresUrl, say } = given;
  const service = readCompose(readFileSync('docker-compose.yml', 'utf8')).find(
    ({ name }) => name === 'temporal',
  );
  if (service === undefined) throw new Error('the compose file has no service "temporal"');
  const programs = await temporalPrograms(service.image, { build: 'once', say });
  if (programs.kind === 'unavailable') throw new Error(`No real Temporal: ${programs.reason}.`);
  const server = await startRealTemporal({
    ...{ programs: programs.folder, folder, postgresUrl, bindIp: '127.0.0.1', log: say },
    env: service.environment,
  });
  // In the namespace that rows and tests use: a new server has none.
  const proc = everthread(['setup'], { TEMPORAL_ADDRESS: server.address });
  if (proc.alive()) await once(proc.child, 'exit');
  if (proc.child.exitCode !== 0) throw new Error(`everthread setup failed: ${proc.log()}`);
  say(proc.log().trim().replaceAll('\n', '; '));
  return server;
}
