import { parse } from 'dotenv';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { ProjectConfig } from './project-config.js';

/**
 * Puts the project's variables into `env`, where its code will look for them. What is there already wins, as with the
 * LangGraph CLI.
 * @returns warnings: a file that is not there is no reason to serve nothing, since fresh clones have none
 */
export async function applyProjectEnv(
  config: ProjectConfig,
  env: NodeJS.ProcessEnv,
): Promise<readonly string[]> {
  const { values, warnings } = await valuesOf(config);
  for (const [name, value] of Object.entries(values)) env[name] ??= value;
  return warnings;
}

async function valuesOf({ env, folder }: ProjectConfig): Promise<{
  values: Readonly<Record<string, string>>;
  warnings: string[];
}> {
  if (typeof env !== 'string') return { values: env ?? {}, warnings: [] };
  try {
    return { values: parse(await readFile(path.resolve(folder, env))), warnings: [] };
  } catch (error) {
    const { code = 'unreadable' } = error as NodeJS.ErrnoException;
    return {
      values: {},
      warnings: [`langgraph.json: the env file ${env} was not read (${code}).`],
    };
  }
}
