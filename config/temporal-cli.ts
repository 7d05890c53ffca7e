import { valueOf } from './env.js';
import type { Environment } from './env.js';

/** Where to look for a Temporal CLI. */
export interface TemporalCliPlaces {
  /** `EVERTHREAD_TEMPORAL_CLI` */
  readonly cliPath?: string;
  /** `PATH` */
  readonly searchPath: string;
  readonly xdgCacheHome?: string;
}

/** On its own, since `everthread temporal path` needs no other setting and must not fail for one. */
export function temporalCliPlaces(env: Environment): TemporalCliPlaces {
  const cliPath = valueOf(env, 'EVERTHREAD_TEMPORAL_CLI');
  const xdgCacheHome = valueOf(env, 'XDG_CACHE_HOME');
  return {
    searchPath: valueOf(env, 'PATH') ?? '',
    ...(cliPath !== undefined && { cliPath }),
    ...(xdgCacheHome !== undefined && { xdgCacheHome }),
  };
}
