import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { urlIn } from './loadings.js';
import type { GraphSpec } from './project-config.js';

const typescript = new Set(['.ts', '.mts', '.cts', '.tsx', '.jsx']);
const javascript = new Set(['.js', '.mjs', '.cjs']);

/**
 * Imports a graph's file, TypeScript too, and returns what the spec names in it.
 * @param loading which loading of the project this is (loadings.ts)
 * @throws Error with the cause in words
 */
export async function importGraphExport(
  folder: string,
  spec: GraphSpec,
  loading = 0,
): Promise<unknown> {
  const file = path.resolve(folder, spec.file);
  const extension = path.extname(file);
  if (extension === '.py') throw new Error('it is a Python graph; Everthread runs LangGraph.js');
  if (!existsSync(file)) throw new Error('there is no such file');
  if (typescript.has(extension)) await acceptTypeScript(folder);
  else if (!javascript.has(extension)) throw new Error(`"${extension}" files cannot be loaded`);
  return await withoutExit(async () => {
    const module = (await import(urlIn(loading, file))) as Record<string, unknown>;
    return pick(module, spec.exportName);
  });
}

/** A file that calls process.exit while it is loaded fails alone, and the other graphs serve. */
async function withoutExit<T>(load: () => Promise<T>): Promise<T> {
  const exit = process.exit.bind(process);
  process.exit = (code) => {
    throw new Error(`it called process.exit(${code ?? ''})`);
  };
  try {
    return await load();
  } finally {
    process.exit = exit;
  }
}

/** What CommonJS exports under names that Node's lexer cannot see is found on its `default`. */
function pick(module: Record<string, unknown>, exportName: string): unknown {
  if (exportName in module) return module[exportName];
  const whole = module.default as Record<string, unknown> | null | undefined;
  if (whole && (typeof whole === 'object' || typeof whole === 'function') && exportName in whole)
    return whole[exportName];
  const names = Object.keys(module).filter((name) => name !== 'module.exports');
  throw new Error(
    `it has no such export; it has ${names.length === 0 ? 'none' : names.sort().join(', ')}`,
  );
}

let accepting: Promise<void> | undefined;

/**
 * From now on TypeScript can be imported in this process, with the project's own tsconfig. It is never undone: a graph may
 * import more files when it runs. One project per process, so one tsconfig.
 */
function acceptTypeScript(folder: string): Promise<void> {
  return (accepting ??= register(folder));
}

async function register(folder: string): Promise<void> {
  const [esm, cjs] = await Promise.all([import('tsx/esm/api'), import('tsx/cjs/api')]);
  const tsconfig = path.join(folder, 'tsconfig.json');
  esm.register(existsSync(tsconfig) ? { tsconfig } : { tsconfig: false });
  cjs.register();
}

/** Whether Node gives CommonJS to this file's imports: by extension, else by the nearest package.json. */
export function isCommonJs(folder: string, spec: GraphSpec): boolean {
  const file = path.resolve(folder, spec.file);
  if (/\.c[jt]s$/.test(file)) return true;
  if (/\.m[jt]s$/.test(file)) return false;
  for (let at = path.dirname(file); ; at = path.dirname(at)) {
    const manifest = path.join(at, 'package.json');
    if (existsSync(manifest))
      return (JSON.parse(readFileSync(manifest, 'utf8')) as { type?: string }).type !== 'module';
    if (at === path.dirname(at)) return true;
  }
}
