/** What a langgraph.json adds to the gateway: who may ask what, browsers of other origins, routes of its own. */

export interface ProjectHttp {
  /** Absent: everybody who reaches the gateway may use it. */
  readonly auth?: ProjectAuth;
  readonly app?: ProjectApp;
  readonly cors?: CorsSettings;
}

/** An `Auth` of the LangGraph SDK, whichever copy of the SDK made it. */
export interface ProjectAuth {
  /** @returns who asks; throws to refuse */
  readonly authenticate: (request: Request) => unknown;
  /** By event: `threads:create`, `threads`, `*:create` or `*`. */
  readonly callbacks: Readonly<Record<string, (asked: AuthAsked) => unknown>>;
}

/** What an `on` handler is told. It may change `value.metadata`. */
export interface AuthAsked {
  readonly event: string;
  readonly resource: string;
  readonly action: string;
  readonly value: Record<string, unknown>;
  readonly user: AuthUser;
  readonly permissions: readonly string[];
}

/** As nodes see it (`configurable.langgraph_auth_user`): JSON. */
export interface AuthUser {
  readonly identity: string;
  readonly permissions: readonly string[];
  readonly [more: string]: unknown;
}

/** A Hono application, or anything else that answers a `Request`. */
export interface ProjectApp {
  fetch(request: Request): Response | Promise<Response>;
  /** Says what becomes of a request that no route takes; Hono's. */
  notFound?(handler: () => Response): unknown;
}

/** `http.cors`, in its own words. */
export interface CorsSettings {
  readonly allow_origins?: readonly string[] | undefined;
  readonly allow_origin_regex?: string | undefined;
  readonly allow_methods?: readonly string[] | undefined;
  readonly allow_headers?: readonly string[] | undefined;
  readonly allow_credentials?: boolean | undefined;
  readonly expose_headers?: readonly string[] | undefined;
  readonly max_age?: number | undefined;
}
