/** Every key of a langgraph.json, and what becomes of it here. docs/COMPATIBILITY.md shows the same table. */

/** `used`: as the LangGraph CLI does. `image`: shapes a deployment image and means nothing to a run. */
export type KeyEffect =
  | { readonly kind: 'used' | 'image' }
  /** Works without it, and this is what is missing. */
  | { readonly kind: 'missing'; readonly what: string }
  /** The project should not be served to others without it. */
  | { readonly kind: 'unsafe'; readonly what: string }
  | { readonly kind: 'unknown' };

export interface KeyNote {
  readonly key: string;
  readonly effect: KeyEffect;
}

const used: KeyEffect = { kind: 'used' };
const image: KeyEffect = { kind: 'image' };
const missing = (what: string): KeyEffect => ({ kind: 'missing', what });
const unsafe = (what: string): KeyEffect => ({ kind: 'unsafe', what });

const keys: Readonly<Record<string, KeyEffect>> = {
  graphs: used,
  env: used,
  node_version: used,
  'store.index': used,
  'store.ttl': used,
  $schema: image,
  dependencies: image,
  dockerfile_lines: image,
  docker_compose_file: image,
  base_image: image,
  image_distro: image,
  api_version: image,
  _INTERNAL_docker_tag: image,
  python_version: image,
  pip_config_file: image,
  pip_installer: image,
  keep_pkg_tools: image,
  source: image,
  node_loader: missing('TypeScript is loaded by tsx, in this process, and no other loader'),
  'checkpointer.ttl': used,
  'checkpointer.path': missing("threads are saved in Everthread's own storage"),
  'checkpointer.serde': missing("values are written by the project's own serializer"),
  'http.app': used,
  'http.cors': used,
  'http.configurable_headers': missing('all x-* headers reach the graph, except those with keys'),
  'http.logging_headers': missing('no header is logged'),
  'http.mount_prefix': missing('routes begin at /'),
  'http.middleware_order': missing('"auth" is asked first, then "http.app", then our routes'),
  'http.enable_custom_route_auth': missing('all routes of "http.app" stand behind "auth"'),
  ui: missing('components are not served'),
  ui_config: missing('components are not served'),
  webhooks: missing('no webhook is called'),
  'auth.path': used,
  'auth.disable_studio_auth': used,
  'auth.openapi': missing('/openapi.json does not describe it'),
  'auth.cache': missing('every request is asked for'),
  encryption: unsafe('threads are stored as they are'),
};

/** Routes of the LangGraph server, none of which are served: switching them off is nothing to tell. */
const isSwitchOff = (key: string): boolean => /^http\.disable_\w+$/.test(key);

/** Of a graph that is more than a path. */
const graphKeys = new Set(['path', 'description', 'slice', 'isolation', 'task_queue', 'fields']);

/** A misspelt one would leave the graph without what its author believes it has. */
const graphNotes = (graphs: object): KeyNote[] =>
  Object.entries(graphs).flatMap(([name, graph]) =>
    Object.keys(typeof graph === 'object' ? (graph as object) : {})
      .filter((key) => !graphKeys.has(key))
      .map((key) => ({ key: `graphs.${name}.${key}`, effect: { kind: 'unknown' } as const })),
  );

/** Keys that are looked at one by one. */
const sections = new Set(['store', 'checkpointer', 'http', 'auth']);

/** What becomes of each key of the file, in its order. */
export function keyNotes(config: Readonly<Record<string, unknown>>): readonly KeyNote[] {
  return Object.entries(config).flatMap(([key, value]) => {
    if (key === 'graphs') return [noteOf(key), ...graphNotes(value as object)];
    if (!sections.has(key) || typeof value !== 'object' || value === null) return [noteOf(key)];
    return Object.entries(value).map(([inner, held]) =>
      isOtherTtl(`${key}.${inner}`, held)
        ? { key: `${key}.${inner}`, effect: missing('threads can only be deleted, so they stay') }
        : noteOf(`${key}.${inner}`),
    );
  });
}

/** A strategy that is not known here must not delete anything. */
const isOtherTtl = (key: string, value: unknown): boolean =>
  key === 'checkpointer.ttl' &&
  ((value as { readonly strategy?: unknown } | null)?.strategy ?? 'delete') !== 'delete';

const noteOf = (key: string): KeyNote => ({
  key,
  effect: isSwitchOff(key) ? used : (keys[key] ?? { kind: 'unknown' }),
});

/** For the log: what a person may miss. */
export function warningOf({ key, effect }: KeyNote): readonly string[] {
  switch (effect.kind) {
    case 'used':
    case 'image':
      return [];
    case 'missing':
    case 'unsafe':
      return [`langgraph.json: "${key}" has no effect here: ${effect.what}.`];
    case 'unknown':
      return [`langgraph.json: "${key}" is not known and has no effect.`];
  }
}
