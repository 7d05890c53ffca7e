/** Loading a project's files once more in the same process, after they were edited: packages stay, and so does what runs. */
import { createRequire, register } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const hooked = new Set<string>();

/** The URL of a file in the n-th loading; 0 is the first, which is as if there were no others. */
export function urlIn(loading: number, file: string): string {
  const url = pathToFileURL(file);
  if (loading > 0) url.searchParams.set('everthread', String(loading));
  return url.href;
}

/** Before each loading but the first. */
export function forgetFiles(folder: string): void {
  if (!hooked.has(folder)) {
    hooked.add(folder);
    const data = { folder: pathToFileURL(`${folder}${path.sep}`).href };
    register('./reload-hooks.js', import.meta.url, { data });
  }
  const { cache } = createRequire(import.meta.url);
  for (const file of Object.keys(cache))
    if (file.startsWith(folder + path.sep) && !file.includes(`${path.sep}node_modules${path.sep}`))
      Reflect.deleteProperty(cache, file);
}
