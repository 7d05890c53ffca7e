import { valueOf } from './env.js';
import type { Environment } from './env.js';

/** Colours are for terminals, and for nobody who set NO_COLOR (https://no-color.org). */
export const useColors = (env: Environment, stream: { readonly isTTY?: boolean }): boolean =>
  stream.isTTY === true && valueOf(env, 'NO_COLOR') === undefined && env.TERM !== 'dumb';
