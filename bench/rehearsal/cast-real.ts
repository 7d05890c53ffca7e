/** Services of the rehearsal that are somebody else's programs: real ones where Go can build them, else what stands in for them. */
import type { TemporalUi } from './temporal-ui.js';
import { startTemporalUi, uiPrograms } from './temporal-ui.js';
import type { Service } from './compose-file.js';
import type { Building, Programs } from './go-programs.js';
import type { Host } from './hosts.js';
import type { Prometheus } from './prometheus.js';
import { prometheusPrograms, startPrometheus } from './prometheus.js';
import { startRealTemporal, temporalPrograms } from './real-temporal.js';
import { castTemporal as castDevServer, folderOf, hostFor } from './services.js';
import type { Cast } from './services.js';

const kinds: Readonly<Record<string, (image: string, building: Building) => Promise<Programs>>> = {
  temporal: temporalPrograms,
  'temporal-ui': uiPrograms,
  prometheus: prometheusPrograms,
};

export interface Real {
  readonly programs: ReadonlyMap<string, Programs>;
  readonly say: Building['say'];
  ui?: TemporalUi;
  prometheus?: Prometheus;
}

/** What is built where an earlier build has left nothing: all, the Temporal server alone, or nothing. */
export const buildings = ['all', 'temporal', 'none'] as const;
export type Built = (typeof buildings)[number];

/** Before anything starts: a first build takes many minutes. */
export async function realPrograms(
  file: readonly Service[],
  built: Built,
  say: Building['say'],
): Promise<Real> {
  const programs = new Map<string, Programs>();
  for (const [name, programsOf] of Object.entries(kinds)) {
    const image = file.find((service) => service.name === name)?.image;
    const build = built === 'all' || built === name ? 'once' : 'no';
    if (image !== undefined) programs.set(name, await programsOf(image, { build, say }));
  }
  return { programs, say };
}

/** The schema and the server on the PostgreSQL of this URL, or the dev server. */
export async function castTemporal(
  cast: Cast,
  service: Service,
  { programs, say }: Real,
  postgresUrl: string,
): Promise<Host> {
  const { name, image, environment: env } = service;
  const folder = folderNamed(programs, name);
  if ('reason' in folder) {
    cast.notes.push(`${name}: ${folder.reason}; the dev server stands in, without temporal-schema`);
    return await castDevServer(cast, service);
  }
  const { address: bindIp, inside, ...rest } = hostFor(cast, name);
  const place = { programs: folder.path, folder: await folderOf(cast), bindIp, inside };
  const server = await startRealTemporal({ ...place, postgresUrl, env, log: say });
  cast.stops.push(() => server.stop());
  cast.addresses.set(`${name}:7233`, server.address);
  cast.addresses.set(`${name}:8000`, server.metricsAddress);
  cast.notes.push(
    `${name}: ${image} as a process at ${server.address}, on ${new URL(postgresUrl).host}`,
  );
  return { ...rest, address: bindIp, inside };
}

export async function castUi(cast: Cast, service: Service, real: Real): Promise<void> {
  const { name, image, environment } = service;
  const folder = folderNamed(real.programs, name);
  if ('reason' in folder) {
    cast.notes.push(`${name}: left out, ${folder.reason}`);
    return;
  }
  const { address: bindIp, inside } = hostFor(cast, name);
  const place = { programs: folder.path, folder: await folderOf(cast), bindIp, inside };
  const ui = await startTemporalUi(movedTo(cast, environment), place);
  cast.stops.push(() => ui.stop());
  cast.notes.push(`${name}: ${image} as a process at ${ui.url}`);
  real.ui = ui;
}

export async function castPrometheus(cast: Cast, service: Service, real: Real): Promise<void> {
  const { name, image } = service;
  const folder = folderNamed(real.programs, name);
  if ('reason' in folder) {
    cast.notes.push(`${name}: left out, ${folder.reason}`);
    return;
  }
  const { address: bindIp, inside } = hostFor(cast, name);
  const selfIp = cast.hosts?.self.address ?? bindIp;
  const place = { programs: folder.path, folder: await folderOf(cast), bindIp, inside, selfIp };
  const prometheus = await startPrometheus(place, (job) => targetsOf(cast, job));
  cast.stops.push(() => prometheus.stop());
  cast.notes.push(`${name}: ${image} as a process at ${prometheus.url}`);
  real.prometheus = prometheus;
}

/** What a person sees who looks at threads in the Web UI and at targets in Prometheus. @returns what they miss */
export async function missed(
  { ui, prometheus }: Real,
  namespace: string,
  threads: number,
): Promise<readonly string[]> {
  const findings: string[] = [];
  if (ui !== undefined) {
    const query = encodeURIComponent(`EverthreadTenant = 'default'`);
    const counted = `${ui.url}/api/v1/namespaces/${namespace}/workflow-count?query=${query}`;
    const { count = '0' } = (await (await fetch(counted)).json()) as { count?: string };
    if (Number(count) < threads) findings.push(`the Web UI finds ${count} of ${threads} threads`);
  }
  // The last look may have met a worker that was just being replaced.
  for (const { metric, value } of (await prometheus?.query('max_over_time(up[30s])')) ?? [])
    if (value !== 1) findings.push(`Prometheus does not reach ${metric.job} ${metric.instance}`);
  return findings;
}

function targetsOf(cast: Cast, job: string): readonly string[] {
  const server = cast.addresses.get(`${job}:8000`);
  if (server !== undefined) return [server];
  return cast.replicas
    .filter(({ service }) => service.name === job)
    .map(({ metrics }) => new URL(metrics).host);
}

const movedTo = ({ addresses }: Cast, environment: Service['environment']) =>
  Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [name, addresses.get(value) ?? value]),
  );

function folderNamed(
  programs: ReadonlyMap<string, Programs>,
  name: string,
): { readonly path: string } | { readonly reason: string } {
  const found = programs.get(name);
  if (found?.kind === 'built') return { path: found.folder };
  return { reason: found?.reason ?? 'the compose file has no such service' };
}
