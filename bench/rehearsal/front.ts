/** The compose file's nginx in front of the gateways, as a process, with its own configuration. */
import { readFileSync } from 'node:fs';
import { startNginx, type Nginx } from '../nginx.js';

/** Undefined when the machine has no nginx. */
export async function startFront(
  folder: string,
  gatewayPorts: readonly number[],
): Promise<Nginx | undefined> {
  const text = readFileSync('deploy/nginx/default.conf', 'utf8');
  return await startNginx(folder, (port) => siteOf(text, port, gatewayPorts));
}

/** Docker's name server is not here, so that the gateways stand in it one by one; everything else is the file's. */
function siteOf(text: string, port: number, gatewayPorts: readonly number[]): string {
  return text
    .replace(/^ *resolver .*\n/m, '')
    .replace(/^ *server gateway:8080 resolve(.*);$/m, (_, options: string) =>
      gatewayPorts.map((at) => `    server 127.0.0.1:${at}${options};`).join('\n'),
    )
    .replace('listen 8080;', `listen 127.0.0.1:${port};`);
}
