/**
 * Hooks of the module loader: what a file of the project imports from the project is of the same loading as the file
 * itself. Runs in the loader's own thread.
 */
import type { InitializeHook, ResolveHook } from 'node:module';

/** In the query of a file's URL: the how manieth loading it belongs to. */
const loading = 'everthread';

let folder = '';

export const initialize: InitializeHook<{ folder: string }> = (data) => {
  folder = data.folder;
};

export const resolve: ResolveHook = async (specifier, context, next) => {
  const resolved = await next(specifier, context);
  const { parentURL } = context;
  const which =
    parentURL !== undefined && URL.canParse(parentURL)
      ? new URL(parentURL).searchParams.get(loading)
      : null;
  if (which === null || !isOfProject(resolved.url)) return resolved;
  const url = new URL(resolved.url);
  url.searchParams.set(loading, which);
  return { ...resolved, url: url.href };
};

/** Packages stay as they are: another copy of LangGraph's classes would not know the first one's objects. */
const isOfProject = (url: string): boolean =>
  url.startsWith(folder) && !url.includes('/node_modules/');
