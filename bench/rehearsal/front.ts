/** The compose file's nginx in front of the gateways, as a process, with its own configuration. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { freePort } from '../../temporal/ports.js';
import { until } from '../../test/support/until.js';

export interface Front {
  readonly url: string;
  stop(): Promise<void>;
}

const places = ['/usr/sbin/nginx', '/usr/local/sbin/nginx', '/usr/local/bin/nginx'];

/** Undefined when the machine has no nginx. */
export async function startFront(
  folder: string,
  gatewayPorts: readonly number[],
): Promise<Front | undefined> {
  const binary = places.find((place) => existsSync(place));
  if (binary === undefined) return undefined;
  const port = await freePort();
  const site = siteOf(readFileSync('deploy/nginx/default.conf', 'utf8'), port, gatewayPorts);
  const file = path.join(folder, 'nginx.conf');
  writeFileSync(file, mainOf(folder, site));
  const child = spawn(binary, ['-p', folder, '-c', file, '-e', path.join(folder, 'error.log')], {
    stdio: 'ignore',
  });
  const killAtExit = (): boolean => child.kill('SIGTERM');
  process.once('exit', killAtExit);
  const url = `http://127.0.0.1:${port}`;
  await until('nginx', async () =>
    (await fetch(`${url}/healthz`).catch(() => null)) ? true : undefined,
  );
  return {
    url,
    stop: async () => {
      process.off('exit', killAtExit);
      const gone = once(child, 'exit');
      if (child.kill('SIGTERM')) await gone;
    },
  };
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

const mainOf = (folder: string, site: string): string => `
daemon off;
pid ${folder}/nginx.pid;
events {}
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
${site}
}
`;
