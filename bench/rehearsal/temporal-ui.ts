/** Temporal's Web UI: the compose file's `temporal-ui` as a process. Its module holds the built pages, so that Go alone builds it. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { stringify } from 'yaml';
import { freePort } from '../../temporal/ports.js';
import type { Service } from './compose-file.js';
import { goPrograms } from './go-programs.js';
import type { Building, Programs } from './go-programs.js';
import { startService } from './service-process.js';
import type { ServiceProcess } from './service-process.js';

/** @param image `temporalio/ui:2.54.1` */
export const uiPrograms = (image: string, building: Building): Promise<Programs> => {
  const version = image.split(':').at(-1) ?? '';
  const module = 'github.com/temporalio/ui-server/v2';
  return goPrograms([{ name: 'temporal-ui', module, version, main: './cmd/server' }], building);
};

export interface TemporalUi extends ServiceProcess {
  readonly url: string;
}

interface UiPlace {
  readonly programs: string;
  readonly folder: string;
  readonly bindIp: string;
  readonly inside?: readonly string[];
}

/** @param environment the service's, with Temporal's address as it is here */
export async function startTemporalUi(
  environment: Service['environment'],
  { programs, folder, bindIp, inside = [] }: UiPlace,
): Promise<TemporalUi> {
  const port = await freePort();
  const config = path.join(folder, 'ui');
  await mkdir(config, { recursive: true });
  await writeFile(path.join(config, 'base.yaml'), uiConfiguration(environment, bindIp, port));
  const ui = await startService({
    command: [
      ...inside,
      path.join(programs, 'temporal-ui'),
      '--root',
      folder,
      '--config',
      'ui',
      'start',
    ],
    logFile: path.join(folder, 'temporal-ui.log'),
    answersAt: { host: bindIp, port },
  });
  return { ...ui, url: `http://${bindIp}:${port}` };
}

/** The image fills its configuration from the same variables, but listens on every address, which is not for a shared machine. */
export const uiConfiguration = (
  { TEMPORAL_ADDRESS, TEMPORAL_DEFAULT_NAMESPACE }: Service['environment'],
  host: string,
  port: number,
): string =>
  stringify({
    temporalGrpcAddress: TEMPORAL_ADDRESS,
    defaultNamespace: TEMPORAL_DEFAULT_NAMESPACE,
    host,
    port,
    enableUi: true,
    disableNewsFetch: true,
    cors: { allowOrigins: [`http://${host}:${port}`] },
  });
