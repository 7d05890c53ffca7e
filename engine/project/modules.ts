import { resolve as resolveEsm } from 'import-meta-resolve';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { LangGraphModules } from './types.js';

export type ModuleFormat = 'esm' | 'cjs';

export interface ProjectModules {
  readonly modules: LangGraphModules;
  readonly warnings: readonly string[];
}

/**
 * Loads LangGraph and what belongs to it as the code in `folder` would get them. One install's ESM and CommonJS builds have
 * different classes, hence `format`. A folder that has none uses ours.
 */
export async function projectModules(
  folder: string,
  format: ModuleFormat,
): Promise<ProjectModules> {
  const from = path.join(folder, 'package.json');
  const langgraph = find('@langchain/langgraph', from, format);
  if (langgraph === undefined) {
    const warning = `${folder} has no @langchain/langgraph that can be resolved; its graphs run with Everthread's own copy.`;
    return { modules: await loadFrom(here, here, format), warnings: [warning] };
  }
  return { modules: await loadFrom(from, langgraph, format), warnings: [] };
}

const here = fileURLToPath(import.meta.url);

/** Our own copy, for the shipped graphs. */
export const ownModules = (): Promise<LangGraphModules> => loadFrom(here, here, 'esm');

/** core is the project's peer, checkpoint is often known to langgraph alone; each falls back to the other's view. */
async function loadFrom(
  project: string,
  langgraph: string,
  format: ModuleFormat,
): Promise<LangGraphModules> {
  const locate = (specifier: string, ...parents: string[]): string => {
    const found = parents.map((p) => find(specifier, p, format)).find((f) => f !== undefined);
    if (found === undefined) throw new Error(`${specifier} cannot be found from ${project}.`);
    return found;
  };
  const files = {
    langgraph: locate('@langchain/langgraph', project),
    messages: locate('@langchain/core/messages', project, langgraph),
    checkpoint: locate('@langchain/langgraph-checkpoint', langgraph, project),
  };
  const load = (file: string): Promise<unknown> =>
    format === 'esm'
      ? import(pathToFileURL(file).href)
      : Promise.resolve(createRequire(file)(file) as unknown);
  return {
    langgraph: (await load(files.langgraph)) as LangGraphModules['langgraph'],
    messages: (await load(files.messages)) as LangGraphModules['messages'],
    checkpoint: (await load(files.checkpoint)) as LangGraphModules['checkpoint'],
    versions: {
      langgraph: versionOf(files.langgraph),
      core: versionOf(files.messages),
      checkpoint: versionOf(files.checkpoint),
    },
  };
}

function find(specifier: string, parent: string, format: ModuleFormat): string | undefined {
  try {
    return format === 'esm'
      ? fileURLToPath(resolveEsm(specifier, pathToFileURL(parent).href))
      : createRequire(parent).resolve(specifier);
  } catch {
    return undefined;
  }
}

function versionOf(file: string): string {
  for (let folder = path.dirname(file); ; folder = path.dirname(folder)) {
    const manifest = path.join(folder, 'package.json');
    if (existsSync(manifest)) {
      const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version?: string };
      // dist/ may have a package.json of its own that says only the module type.
      if (version !== undefined) return version;
    }
    if (folder === path.dirname(folder)) return 'unknown';
  }
}
