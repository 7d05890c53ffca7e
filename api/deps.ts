import type { Request } from 'express';
import type { Logger } from 'pino';
import { usualRequestLimits, type RequestLimits } from '../config/request-limits.js';
import type { FieldsSchema } from '../contracts/fields.js';
import type { Relay } from '../contracts/frames.js';
import type { AuthUser, ProjectAuth, ProjectHttp } from '../contracts/project-http.js';
import type { Storage } from '../storage/port.js';
import type { Waker } from '../contracts/waker.js';

/** Who asks. The one port that says it, so that authentication has one place (DESIGN 15.1). */
export interface Caller {
  readonly tenant: string;
  readonly user: string;
  /** As the project's own `Auth` knows him; absent where the project has none. */
  readonly auth?: AuthUser;
}
/** @throws Problem when nobody may ask */
export type Identify = (request: Request) => Promise<Caller>;

/** Without an `Auth` of the project everybody is the one default user of the one default tenant. */
export const identifyEverybody: Identify = () =>
  Promise.resolve({ tenant: 'default', user: 'default' });

export interface GatewaySettings extends RequestLimits {
  /** A JSON request waits this long for its turn, then it is told where to look (DESIGN 15.3). */
  readonly waitMs: number;
  /** Shortest time between two looks at the rows that somebody waits for; the longest is twice this. */
  readonly pollMs: number;
  readonly stream: StreamSettings;
}

export interface StreamSettings {
  /** A comment this often keeps proxies from cutting a silent stream. */
  readonly pingMs: number;
  /** Above this many unsent bytes a reader gets no more tokens, but one snapshot when it has caught up. */
  readonly holdBytes: number;
  /** Above this many unsent bytes a reader is cut off: it can resume, the gateway's memory cannot. */
  readonly cutBytes: number;
  /** A reader that takes nothing for this long is cut off. */
  readonly stallMs: number;
}

export const defaultSettings: GatewaySettings = {
  ...usualRequestLimits,
  waitMs: 120_000,
  pollMs: 1_000, // a lost wake costs 2 s, not a hang
  stream: { pingMs: 15_000, holdBytes: 64 << 10, cutBytes: 256 << 10, stallMs: 30_000 },
};

export interface GatewayGraphs {
  readonly names: readonly string[];
  readonly default: string;
  /** Graphs that declare fields; null where the schema itself cannot be loaded here, and the worker alone checks. */
  readonly fields?: ReadonlyMap<string, FieldsSchema | null>;
}

/** All that the gateway needs; composed in `cli/`. */
export interface GatewayDeps {
  readonly storage: Storage;
  readonly relay: Relay;
  readonly wake: Waker;
  /** Names of the graphs that are served, and the one that a new thread gets when none is named. */
  readonly graphs: GatewayGraphs;
  /** Which task queues no worker serves; undefined: not known. */
  readonly queues?: { unserved(graph: string): Promise<string | undefined> };
  readonly log: Logger;
  readonly identify: Identify;
  /** The project's handlers that say what a caller may do. */
  readonly auth?: Pick<ProjectAuth, 'callbacks'>;
  readonly app?: ProjectHttp['app'];
  readonly cors?: ProjectHttp['cors'];
  readonly settings: GatewaySettings;
  /** Names of what is not ready besides the database (`temporal`, in dev `worker`); empty when all is. */
  readonly ready: () => Promise<readonly string[]>;
  /** Aborted when the gateway closes: streams end, waiters are told where to look. */
  readonly closing: AbortSignal;
}
