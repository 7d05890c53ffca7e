import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';

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
}

export type Slice = 'turn' | 'superstep';
export type Isolation = 'none' | 'thread';

export interface ProjectConfig {
  readonly folder: string;
  /** By name, in the order of the file. */
  readonly graphs: Readonly<Record<string, GraphSpec>>;
  readonly env: string | Readonly<Record<string, string>> | undefined;
  readonly warnings: readonly string[];
}

const graphSchema = z.union([
  z.string().min(1),
  z.object({
    path: z.string().min(1),
    description: z.string().optional(),
    slice: z.enum(['turn', 'superstep']).optional(),
    isolation: z.enum(['none', 'thread']).optional(),
  }),
]);

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
  dependencies: z.array(z.string()).optional(),
});

/** Keys that shape a deployment image and mean nothing to a run. */
const silentKeys = new Set(
  '$schema graphs env node_version dependencies dockerfile_lines docker_compose_file image_distro base_image api_version node_loader python_version pip_config_file pip_installer keep_pkg_tools source _INTERNAL_docker_tag'.split(
    ' ',
  ),
);

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
  const { graphs, env, ...others } = parsed.data;
  const unknown = Object.keys(others).filter((key) => !silentKeys.has(key));
  return {
    folder: path.dirname(file),
    graphs: Object.fromEntries(
      Object.entries(graphs).map(([name, graph]) => [name, graphSpec(name, graph)]),
    ),
    env,
    warnings:
      unknown.length === 0 ? [] : [`langgraph.json: ${unknown.join(', ')} not used by Everthread.`],
  };
}

async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as unknown;
  } catch (error) {
    throw new Error(`${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

function graphSpec(name: string, graph: z.infer<typeof graphSchema>): GraphSpec {
  const { path: location, ...options } = typeof graph === 'string' ? { path: graph } : graph;
  // The last colon, and not that of a Windows drive.
  const colon = location.lastIndexOf(':');
  const split = colon > 1 ? colon : location.length;
  return {
    name,
    file: location.slice(0, split),
    exportName: location.slice(split + 1) || 'default',
    ...given(options),
  };
}

/** What has a value: a key that holds `undefined` is not the same as no key. */
function given({
  description,
  slice,
  isolation,
}: {
  description?: string | undefined;
  slice?: Slice | undefined;
  isolation?: Isolation | undefined;
}): Pick<GraphSpec, 'description' | 'slice' | 'isolation'> {
  return {
    ...(description !== undefined && { description }),
    ...(slice !== undefined && { slice }),
    ...(isolation !== undefined && { isolation }),
  };
}
