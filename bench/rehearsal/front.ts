/** The compose file's nginx in front of the gateways, as a process, with its own configuration. */
import { readFileSync } from 'node:fs';
import { startNginx, type Nginx } from '../nginx.js';
import type { Host } from './hosts.js';

/**
 * @param gateways `host:port` of each
 * @returns undefined when the machine has no nginx
 */
export async function startFront(
  folder: string,
  gateways: readonly string[],
  host: Host,
): Promise<Nginx | undefined> {
  const text = readFileSync('deploy/nginx/default.conf', 'utf8');
  return await startNginx(folder, (listen) => siteOf(text, listen, gateways), host);
}

/** Docker's name server is not here, so that the gateways stand in it one by one; everything else is the file's. */
function siteOf(text: string, listen: string, gateways: readonly string[]): string {
  return text
    .replace(/^ *resolver .*\n/m, '')
    .replace(/^ *server gateway:8080 resolve(.*);$/m, (_, options: string) =>
      gateways.map((at) => `    server ${at}${options};`).join('\n'),
    )
    .replace('listen 8080;', `listen ${listen};`);
}
