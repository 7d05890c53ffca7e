/** What `--real-temporal` asks for: the compose file's Temporal server on the row's own PostgreSQL, set up as an operator does. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { everthread } from '../test/support/processes.js';
import { readCompose } from './rehearsal/compose-file.js';
import { startRealTemporal, temporalPrograms } from './rehearsal/real-temporal.js';
import type { Stage } from './stage.js';

/** @throws when there is no such server here, or it cannot be had */
export async function realServer(
  stage: Stage,
  postgresUrl: string,
): Promise<{ readonly address: string; readonly pid: number }> {
  const service = readCompose(readFileSync('docker-compose.yml', 'utf8')).find(
    ({ name }) => name === 'temporal',
  );
  if (service === undefined) throw new Error('the compose file has no service "temporal"');
  const programs = await temporalPrograms(service.image, stage.say);
  if (programs.kind === 'unavailable') throw new Error(`No real Temporal: ${programs.reason}.`);
  const server = await startRealTemporal({
    programs: programs.folder,
    folder: stage.folder('real-temporal'),
    postgresUrl,
    env: service.environment,
    bindIp: '127.0.0.1',
    log: stage.say,
  });
  stage.parts.add(server, () => server.stop());
  // In the namespace that the rows use; a new server has none.
  const proc = everthread(['setup'], { TEMPORAL_ADDRESS: server.address });
  if (proc.alive()) await once(proc.child, 'exit');
  if (proc.child.exitCode !== 0) throw new Error(`everthread setup failed: ${proc.log()}`);
  stage.say(proc.log().trim().replaceAll('\n', '; '));
  return server;
}
