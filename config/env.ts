import { config as loadDotenv } from 'dotenv';

/** Variables as `process.env` has them. Tests give their own. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Every variable that Everthread reads itself, once. Model providers read their own (`OPENAI_API_KEY`, …). */
export const variables = [
  'HOST',
  'PORT',
  'EVERTHREAD_ALLOW_REMOTE',
  'EVERTHREAD_AUTHORIZATION',
  'EVERTHREAD_MAX_BODY_BYTES',
  'EVERTHREAD_MAX_MESSAGE_CHARS',
  'EVERTHREAD_MAX_PENDING_TURNS',
  'EVERTHREAD_STORAGE',
  'EVERTHREAD_DATA',
  'EVERTHREAD_SQLITE_PATH',
  'EVERTHREAD_POSTGRES_URL',
  'EVERTHREAD_POSTGRES_POOL',
  'EVERTHREAD_AUTO_MIGRATE',
  'TEMPORAL_ADDRESS',
  'TEMPORAL_PROFILE',
  'TEMPORAL_CONFIG_FILE',
  'TEMPORAL_NAMESPACE',
  'EVERTHREAD_TEMPORAL_CLI',
  'EVERTHREAD_TEMPORAL_PORT',
  'EVERTHREAD_TEMPORAL_UI_PORT',
  'EVERTHREAD_TASK_QUEUE',
  'EVERTHREAD_WORKER_QUEUES',
  'EVERTHREAD_TURNS_AT_ONCE',
  'EVERTHREAD_DEPLOYMENT',
  'EVERTHREAD_BUILD_ID',
  'EVERTHREAD_CONFIG',
  'EVERTHREAD_MODEL',
  'EVERTHREAD_SUPPORT_DOCS',
  'EVERTHREAD_CONTEXT_BUDGET',
  'EVERTHREAD_SUMMARY_MODEL',
  'EVERTHREAD_MAX_STEPS',
  'EVERTHREAD_TURN_TOKENS',
  'EVERTHREAD_TURN_COST',
  'EVERTHREAD_MODEL_PRICES',
  'EVERTHREAD_THREAD_IDLE',
  'EVERTHREAD_CACHED_THREADS',
  'EVERTHREAD_TURN_TIMEOUT',
  'EVERTHREAD_STEP_TIMEOUT',
  'EVERTHREAD_ISOLATION_THREADS',
  'EVERTHREAD_ISOLATION_MEMORY',
  'EVERTHREAD_METRICS_PORT',
  'EVERTHREAD_METRICS_HOST',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_PROTOCOL',
  'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL',
  'OTEL_TRACES_EXPORTER',
  'OTEL_SDK_DISABLED',
  'LOG_LEVEL',
  'NO_COLOR',
  'PATH',
  'XDG_CACHE_HOME',
] as const;
export type Variable = (typeof variables)[number];

/**
 * The environment of this process, the only place that reads it.
 * `withDotenv` first fills what is missing from `.env` in the working directory: into the process itself, so that model
 * providers find their keys too. A variable that exists, even an empty one, stays as it is.
 */
export function readEnvironment({ withDotenv }: { withDotenv: boolean }): Environment {
  if (withDotenv) loadDotenv({ quiet: true });
  return { ...process.env };
}

/** The process's own variables, live: a project's code reads them there, and its env file adds to them. */
export const liveEnvironment = (): NodeJS.ProcessEnv => process.env;

/** The value of a variable; an empty one counts as unset. */
export function valueOf(env: Environment, name: Variable): string | undefined {
  const value = env[name]?.trim();
  return value === '' ? undefined : value;
}

/**
 * What the SDK's environment configuration may look at: all `TEMPORAL_*` (TLS, API key and gRPC metadata have open-ended
 * names) and the variables that lead to its default file. Empty ones are left out.
 */
export function temporalVariables(env: Environment): Record<string, string | undefined> {
  const wanted = /^(TEMPORAL_.+|HOME|XDG_CONFIG_HOME|APPDATA)$/;
  return Object.fromEntries(
    Object.entries(env).filter(([name, value]) => wanted.test(name) && value?.trim()),
  );
}

/** Variables that look like ours and are not: probably a slip of the pen. */
export function unknownVariables(env: Environment): string[] {
  const known = new Set<string>(variables);
  return Object.keys(env).filter((name) => name.startsWith('EVERTHREAD_') && !known.has(name));
}
