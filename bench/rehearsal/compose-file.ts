/** docker-compose.yml as a list of services: what each runs, with which variables, after which others. */
import { parse } from 'yaml';
import { z } from 'zod';

const condition = z.enum(['service_started', 'service_healthy', 'service_completed_successfully']);
const scalar = z.union([z.string(), z.number(), z.boolean()]).transform(String);

const serviceSchema = z.object({
  image: z.string(),
  build: z.string().optional(),
  command: z.array(z.string()).default([]),
  environment: z.record(z.string(), scalar).default({}),
  depends_on: z.record(z.string(), z.object({ condition })).default({}),
  deploy: z.object({ replicas: z.number() }).optional(),
  profiles: z.array(z.string()).default([]),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  container_name: z.string().optional(),
  healthcheck: z
    .object({ test: z.array(z.string()).optional(), disable: z.boolean().default(false) })
    .optional(),
});
const fileSchema = z.object({ services: z.record(z.string(), serviceSchema) });

export interface Service extends z.infer<typeof serviceSchema> {
  readonly name: string;
  /** Runs the image that this project builds. */
  readonly ours: boolean;
}

/** @param given variables that the file may ask for; its own defaults fill in the others */
export function readCompose(
  text: string,
  given: Readonly<Record<string, string>> = {},
): readonly Service[] {
  const file = fileSchema.parse(parse(text, { merge: true }));
  return Object.entries(file.services).map(([name, service]) => ({
    ...service,
    name,
    ours: service.build !== undefined,
    environment: Object.fromEntries(
      Object.entries(service.environment).map(([key, value]) => [key, interpolate(value, given)]),
    ),
  }));
}

/** The one form that the file uses: `${NAME:-default}`. @throws for every other */
function interpolate(value: string, given: Readonly<Record<string, string>>): string {
  return value.replaceAll(/\$(\{[^}]*\}|.)/g, (whole) => {
    const [, name = '', otherwise = ''] = /^\$\{(\w+):-([^}]*)\}$/.exec(whole) ?? [];
    if (name === '') throw new Error(`"${value}": only \${NAME:-default} is known here`);
    const set = given[name] ?? '';
    return set === '' ? otherwise : set;
  });
}

/** Each service after those that it depends on. */
export function startOrder(services: readonly Service[]): readonly Service[] {
  const byName = new Map(services.map((service) => [service.name, service]));
  const ordered = new Set<Service>();
  const place = (service: Service): void => {
    for (const name of Object.keys(service.depends_on)) {
      const earlier = byName.get(name);
      if (earlier === undefined) throw new Error(`${service.name} depends on ${name}: no service`);
      if (!ordered.has(earlier)) place(earlier);
    }
    ordered.add(service);
  };
  for (const service of services) if (!ordered.has(service)) place(service);
  return [...ordered];
}
