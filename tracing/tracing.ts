/** What the composition roots know of traces: wrappers and interceptors that make spans, or that do nothing. */
import type { RequestListener } from 'node:http';
import type { ClientInterceptors } from '@temporalio/client';
import type { WorkerInterceptors } from '@temporalio/worker';
import type { ListenToRuns } from '../contracts/run-event.js';
import type { Storage } from '../storage/port.js';

export interface TracingSettings {
  /** What the process is; `OTEL_SERVICE_NAME` wins. */
  readonly serviceName: string;
  /** How OTLP is spoken over HTTP. The SDK reads the address and all else itself. */
  readonly protocol: 'http/protobuf' | 'http/json';
}

export interface Tracing {
  requests(app: RequestListener): RequestListener;
  storage(storage: Storage): Storage;
  /** Hears runs; undefined when traces are off. */
  readonly runs: ListenToRuns | undefined;
  readonly client: ClientInterceptors;
  readonly worker: WorkerInterceptors;
  /** Sends what has not been sent. */
  close(): Promise<void>;
}

/** Off: every wrapper gives back what it was given. */
const noTracing: Tracing = {
  requests: (app) => app,
  storage: (storage) => storage,
  runs: undefined,
  client: {},
  worker: {},
  close: () => Promise.resolve(),
};

export async function openTracing(
  settings: TracingSettings | null,
  log: { warn(what: { err: unknown }, line: string): void },
): Promise<Tracing> {
  if (settings === null) return noTracing;
  const { startTracing } = await import('./start.js');
  return await startTracing(settings, (err) => log.warn({ err }, 'traces cannot be sent'));
}
