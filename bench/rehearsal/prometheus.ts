/** The compose file's `prometheus` as a process, with deploy/prometheus/prometheus.yml; what its service discovery asks Docker is asked here. */
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { freePort } from '../../temporal/ports.js';
import { goPrograms } from './go-programs.js';
import type { Building, Programs } from './go-programs.js';
import { startService } from './service-process.js';

/** @param image `prom/prometheus:v3.13.0`; as a Go module it is v0.313.0 */
export const prometheusPrograms = (image: string, building: Building): Promise<Programs> => {
  const version = image.split(':v').at(-1) ?? '';
  const [major = '', minor = '', patch = ''] = version.split('.');
  const moduleVersion = `0.${major}${minor.padStart(2, '0')}.${patch}`;
  const module = 'github.com/prometheus/prometheus';
  // Without what it has for clouds, which is two thirds of it, and without its own pages.
  const tags = ['remove_all_sd', 'enable_dns_sd'];
  return goPrograms(
    [{ name: 'prometheus', module, version, moduleVersion, main: './cmd/prometheus', tags }],
    building,
  );
};

export interface Prometheus {
  readonly url: string;
  /** The value of each series that the query finds, by its labels. */
  query(text: string): Promise<readonly Sample[]>;
  stop(): Promise<void>;
}

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
}

interface Place {
  readonly programs: string;
  readonly folder: string;
  readonly bindIp: string;
  readonly inside?: readonly string[];
  /** Where this process is seen from there. */
  readonly selfIp: string;
}

/** @param targetsOf `host:port` of each process of a job, now */
export async function startPrometheus(
  { programs, folder, bindIp, inside = [], selfIp }: Place,
  targetsOf: (job: string) => readonly string[],
): Promise<Prometheus> {
  const discovery = createServer(({ url = '' }, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify([{ targets: targetsOf(url.slice(1)) }]));
  });
  await new Promise<void>((resolve) => discovery.listen(0, selfIp, resolve));
  discovery.unref();
  const askedAt = `http://${selfIp}:${(discovery.address() as AddressInfo).port}`;
  const text = await readFile('deploy/prometheus/prometheus.yml', 'utf8');
  const file = path.join(folder, 'prometheus.yml');
  await writeFile(file, discoveredAt(text, askedAt));
  const port = await freePort();
  const url = `http://${bindIp}:${port}`;
  const flags = [
    `--config.file=${file}`,
    `--storage.tsdb.path=${path.join(folder, 'prometheus')}`,
    `--web.listen-address=${bindIp}:${port}`,
  ];
  const server = await startService({
    command: [...inside, path.join(programs, 'prometheus'), ...flags],
    logFile: path.join(folder, 'prometheus.log'),
    answersAt: { host: bindIp, port },
  });
  return {
    url,
    query: (text) => query(url, text),
    stop: async () => {
      await server.stop();
      discovery.close();
    },
  };
}

const scrapeConfig = z.looseObject({ job_name: z.string() });
const scraping = z.looseObject({ scrape_configs: z.array(scrapeConfig) });

/** Every job asks for its targets over HTTP, where the file asks Docker's name server or names a service. The rest is the file's. */
export function discoveredAt(text: string, url: string): string {
  const { scrape_configs: jobs, ...rest } = scraping.parse(parse(text));
  return stringify({
    ...rest,
    scrape_configs: jobs.map(({ dns_sd_configs: _, static_configs: __, ...job }) => ({
      ...job,
      http_sd_configs: [{ url: `${url}/${job.job_name}`, refresh_interval: '1s' }],
    })),
  });
}

const answered = z.object({
  data: z.object({
    result: z.array(
      z.object({
        metric: z.record(z.string(), z.string()),
        value: z.tuple([z.number(), z.string()]),
      }),
    ),
  }),
});

async function query(url: string, text: string): Promise<readonly Sample[]> {
  const answer = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(text)}`);
  const { data } = answered.parse(await answer.json());
  return data.result.map(({ metric, value: [, value] }) => ({ metric, value: Number(value) }));
}
