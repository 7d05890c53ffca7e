import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { CorsSettings } from '../../contracts/project-http.js';
import { mainQueue } from '../../contracts/task-queues.js';
import { keyNotes, warningOf, type KeyNote } from './config-keys.js';

/** A graph of langgraph.json: where it stands. */
export interface GraphSpec {
  readonly name: string;
  readonly file: string;
  /** `default` when the file names none. */
  readonly exportName: string;
  readonly description?: string;
  /** `superstep` makes each superstep an activity of its own in the Web UI; `turn` (the default) costs less. */
  readonly slice?: Slice;
  /** `thread` runs the supersteps in a pool of worker threads: for nodes that compute or block (DESIGN 7). */
  readonly isolation?: Isolation;
  /** The task queue that its turns run on (Q1): a short name, absent on the main one. */
  readonly taskQueue?: string;
  /** Where the zod object stands that declares the thread's typed fields. */
  readonly fields?: ExportPlace;
}

/** A file of the project and a name that it exports. */
export interface ExportPlace {
  readonly file: string;
  readonly exportName: string;
}

export type Slice = 'turn' | 'superstep';
export type Isolation = 'none' | 'thread';

export interface ProjectConfig {
  readonly folder: string;
  /** By name, in the order of the file. */
  readonly graphs: Readonly<Record<string, GraphSpec>>;
  readonly env: string | Readonly<Record<string, string>> | undefined;
  /** What the project asks for; the process runs on whatever Node it was started with. */
  readonly nodeVersion: string | number | undefined;
  /** Where the `Auth` stands that says who may ask what. */
  readonly auth: ExportPlace | undefined;
  /** Where the application stands whose routes come before ours. */
  readonly app: ExportPlace | undefined;
  readonly cors: CorsSettings | undefined;
  /** Threads that rest for longer than this are deleted; never when undefined. */
  readonly threadTtl: { readonly idleMs: number; readonly sweepEveryMs: number } | undefined;
  /** What becomes of each key. */
  readonly notes: readonly KeyNote[];
  readonly warnings: readonly string[];
}

/** Short name of the task queue of each graph that does not live on the main one (Q1). */
export const queuePlaces = ({
  graphs,
}: Pick<ProjectConfig, 'graphs'>): ReadonlyMap<string, string> =>
  new Map(Object.values(graphs).flatMap(({ name, taskQueue: q }) => (q ? [[name, q]] : [])));

const graphSchema = z.union([
  z.string().min(1),
  z.looseObject({
    path: z.string().min(1),
    description: z.string().optional(),
    slice: z.enum(['turn', 'superstep']).optional(),
    isolation: z.enum(['none', 'thread']).optional(),
    task_queue: z
      .string()
      .regex(/^[\w-]{1,64}$/, 'a task queue is named by 1-64 characters of A-Z a-z 0-9 _ -')
      .refine((name) => name !== 'all', '"all" stands for every queue; choose another name')
      .optional(),
    fields: z.string().min(1).optional(),
  }),
]);

const texts = z.array(z.string()).optional();
const corsSchema = z.looseObject({
  allow_origins: texts,
  allow_origin_regex: z.string().refine(isRegex, 'is no regular expression').optional(),
  allow_methods: texts,
  allow_headers: texts,
  allow_credentials: z.boolean().optional(),
  expose_headers: texts,
  max_age: z.number().optional(),
});

function isRegex(text: string): boolean {
  try {
    return new RegExp(text) instanceof RegExp;
  } catch {
    return false;
  }
}

const ttlSchema = z.looseObject({
  strategy: z.string().default('delete'),
  /** Minutes. */
  default_ttl: z.number().positive().nullish(),
  sweep_interval_minutes: z.number().positive().default(5),
});
const minuteMs = 60_000;

/** The langgraph.json of the LangGraph CLI, as far as a run needs it; other keys pass and are named in a warning. */
const configSchema = z.looseObject({
  graphs: z
    .record(z.string().min(1), graphSchema)
    .refine((graphs) => Object.keys(graphs).length > 0, 'names no graph'),
  env: z
    .union([z.string().min(1), z.record(z.string(), z.coerce.string())], {
      error: 'must be the path of a file or an object of names and values, not a list',
    })
    .optional(),
  node_version: z.union([z.string(), z.number()]).optional(),
  auth: z
    .looseObject({
      // Nobody is let in unasked (A10): an `auth` that names nothing to ask is no open door.
      path: z.string('names the file that asks who calls; without "auth" nobody is asked').min(1),
    })
    .optional(),
  http: z
    .looseObject({ app: z.string().min(1).optional(), cors: corsSchema.optional() })
    .optional(),
  checkpointer: z.looseObject({ ttl: ttlSchema.optional() }).nullish(),
});

/**
 * Reads and checks a langgraph.json.
 * @throws Error that names the file and what is wrong with it
 */
export async function readProjectConfig(configPath: string): Promise<ProjectConfig> {
  const file = path.resolve(configPath);
  const parsed = configSchema.safeParse(await readJson(file));
  if (!parsed.success) {
    const problems = parsed.error.issues.map((i) => `${i.path.join('.') || 'it'}: ${i.message}`);
    throw new Error(`${file} is not a langgraph.json that can be served. ${problems.join('; ')}`);
  }
  const { graphs, env, node_version: nodeVersion, auth, http, checkpointer } = parsed.data;
  const notes = keyNotes(parsed.data);
  return {
    folder: path.dirname(file),
    graphs: Object.fromEntries(
      Object.entries(graphs).map(([name, graph]) => [name, graphSpec(name, graph)]),
    ),
    env,
    nodeVersion,
    auth: auth && placeOf(auth.path, 'default'),
    app: http?.app === undefined ? undefined : placeOf(http.app, 'default'),
    cors: http?.cors,
    threadTtl: threadTtlOf(checkpointer?.ttl),
    notes,
    warnings: notes.flatMap(warningOf),
  };
}

function threadTtlOf(ttl: z.infer<typeof ttlSchema> | undefined): ProjectConfig['threadTtl'] {
  if (ttl?.default_ttl == null || ttl.strategy !== 'delete') return undefined;
  return {
    idleMs: ttl.default_ttl * minuteMs,
    sweepEveryMs: ttl.sweep_interval_minutes * minuteMs,
  };
}

async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as unknown;
  } catch (error) {
    throw new Error(`${file} cannot be read: ${reasonOf(error)}`, { cause: error });
  }
}

const reasonOf = (error: unknown): string =>
  (error as NodeJS.ErrnoException).code === 'ENOENT'
    ? "there is no such file. Name a project's langgraph.json: EVERTHREAD_CONFIG, or `everthread doctor <folder>`."
    : (error as Error).message;

function graphSpec(name: string, graph: z.infer<typeof graphSchema>): GraphSpec {
  const { path: location, ...options } = typeof graph === 'string' ? { path: graph } : graph;
  return { name, ...placeOf(location, 'default'), ...given(options) };
}

function placeOf(location: string, otherwise: string): ExportPlace {
  // The last colon, and not that of a Windows drive.
  const colon = location.lastIndexOf(':');
  const split = colon > 1 ? colon : location.length;
  return {
    file: location.slice(0, split),
    exportName: location.slice(split + 1) || otherwise,
  };
}

/** What has a value: a key that holds `undefined` is not the same as no key. */
function given({
  description,
  slice,
  isolation,
  task_queue: taskQueue,
  fields,
}: {
  description?: string | undefined;
  slice?: Slice | undefined;
  isolation?: Isolation | undefined;
  task_queue?: string | undefined;
  fields?: string | undefined;
}): Pick<GraphSpec, 'description' | 'slice' | 'isolation' | 'taskQueue' | 'fields'> {
  return {
    ...(description !== undefined && { description }),
    ...(slice !== undefined && { slice }),
    ...(isolation !== undefined && { isolation }),
    ...(taskQueue !== undefined && taskQueue !== mainQueue && { taskQueue }),
    ...(fields !== undefined && { fields: placeOf(fields, 'fields') }),
  };
}
