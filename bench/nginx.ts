/** The machine's own nginx in front of gateways. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { freePort } from '../temporal/ports.js';
import { until } from '../test/support/until.js';

export interface Nginx {
  readonly url: string;
  stop(): Promise<void>;
}

const places = [
  '/usr/sbin/nginx',
  '/usr/local/sbin/nginx',
  '/usr/local/bin/nginx',
  '/opt/homebrew/bin/nginx',
];

/** Where it runs: `inside` stands in front of its command line, when that is a network of its own. */
interface NginxPlace {
  readonly address: string;
  readonly inside: readonly string[];
}

const thisMachine: NginxPlace = { address: '127.0.0.1', inside: [] };

/**
 * @param folder takes its configuration, log and temporary files
 * @param siteAt what stands in the `http` block, for the address and port to listen on
 * @returns undefined when the machine has no nginx
 */
export async function startNginx(
  folder: string,
  siteAt: (listen: string) => string,
  { address, inside } = thisMachine,
): Promise<Nginx | undefined> {
  const binary = places.find((place) => existsSync(place));
  if (binary === undefined) return undefined;
  const listen = `${address}:${await freePort()}`;
  const file = path.join(folder, 'nginx.conf');
  writeFileSync(file, mainOf(folder, siteAt(listen)));
  const log = path.join(folder, 'error.log');
  const [program, ...args] = [...inside, binary, '-p', folder, '-c', file, '-e', log];
  const child = spawn(program, args, { stdio: 'ignore' });
  const killAtExit = (): boolean => child.kill('SIGTERM');
  process.once('exit', killAtExit);
  const url = `http://${listen}`;
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

/** Nothing about buffering: what a person gets who writes three lines. */
export const plainSite = (upstream: string) => (listen: string) => `
  server {
    listen ${listen};
    location / { proxy_pass ${upstream}; }
  }`;

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
