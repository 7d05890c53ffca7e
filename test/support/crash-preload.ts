import path from 'node:path';
import { pathToFileURL } from 'node:url';

const preload = pathToFileURL(path.resolve('test/support/arm-crash-points.mjs'));

/** Environment in which a process can be ended or stopped at a named point; the preload says how. */
export const crashPreload = { NODE_OPTIONS: `--import=${preload.href}` };
