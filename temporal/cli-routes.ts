import type { TemporalRelease } from './cli-release.js';

/** The ways to a Temporal CLI, in the order in which they are tried. */
export type CliRoute = 'explicit' | 'path' | 'cache' | 'official' | 'pip';

/** Where to look for a Temporal CLI. Facts of the environment are given, never read, so that each route can be broken. */
export interface CliSearch {
  /** `EVERTHREAD_TEMPORAL_CLI`. */
  readonly explicitPath?: string | undefined;
  /** `PATH`: searched for `temporal`, and for pip and Python. */
  readonly searchPath: string;
  /** Folder that fetched CLIs are kept in, one folder per version; see `temporalCacheFolder`. */
  readonly cacheFolder: string;
  /** Tells a person about a first fetch and about a setting that does not work. */
  readonly onProgress?: ((text: string) => void) | undefined;
  /** Another release than the pinned one. */
  readonly release?: TemporalRelease | undefined;
  /** Another place that answers like the official download service: a mirror. */
  readonly downloadOrigin?: string | undefined;
}

/** A search with its defaults filled in: what each route is given. */
export interface RouteSearch extends CliSearch {
  readonly onProgress: (text: string) => void;
  readonly release: TemporalRelease;
  readonly downloadOrigin: string;
}

/** A route either has a CLI that runs, or says why not and what a person can do. */
export type RouteOutcome =
  | { readonly kind: 'found'; readonly path: string; readonly version: string }
  | { readonly kind: 'refused'; readonly reason: string; readonly remedy: string };

export const refused = (reason: string, remedy: string): RouteOutcome => ({
  kind: 'refused',
  reason,
  remedy,
});
