/** Starts the OpenTelemetry SDK of this process, and gives what makes the spans. */
import { trace } from '@opentelemetry/api';
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import type { SpanExporter } from '@opentelemetry/sdk-trace-node';
import { OpenTelemetryWorkflowClientInterceptor } from '@temporalio/interceptors-opentelemetry/lib/client/index.js';
import { OpenTelemetryActivityInboundInterceptor } from '@temporalio/interceptors-opentelemetry/lib/worker/index.js';
import { runSpans } from './run-spans.js';
import { tracedRequests } from './traced-requests.js';
import { tracedStorage } from './traced-storage.js';
import type { Tracing, TracingSettings } from './tracing.js';

/** A stop waits no longer for a collector that does not answer. */
const lastSendMs = 3_000;
/** One that is away would fill the log. */
const troubleEveryMs = 60_000;

export async function startTracing(
  settings: TracingSettings,
  onTrouble: (error: unknown) => void,
): Promise<Tracing> {
  const exporter = await exporterFor(settings);
  const provider = new NodeTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': settings.serviceName }))
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(exporter)],
  });
  setGlobalErrorHandler(atMostEvery(troubleEveryMs, onTrouble));
  // Globally: Temporal's interceptors and instrumentation of the graphs' own look there. Without the propagator for
  // baggage, which is a client's text and would stand in Temporal's history (A6).
  provider.register({ propagator: new W3CTraceContextPropagator() });
  const tracer = trace.getTracer('everthread');
  return {
    requests: (app) => tracedRequests(app, tracer),
    storage: (storage) => tracedStorage(storage, tracer),
    runs: runSpans(tracer),
    client: { workflow: [new OpenTelemetryWorkflowClientInterceptor()] },
    worker: {
      activity: [(context) => ({ inbound: new OpenTelemetryActivityInboundInterceptor(context) })],
    },
    close: () => withinOrSo(lastSendMs, provider.shutdown()),
  };
}

/** Each reads its own variables: address, headers, certificates, time-out. */
async function exporterFor({ protocol }: TracingSettings): Promise<SpanExporter> {
  switch (protocol) {
    case 'http/protobuf': {
      const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto');
      return new OTLPTraceExporter();
    }
    case 'http/json': {
      const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http');
      return new OTLPTraceExporter();
    }
  }
}

function atMostEvery<T>(pauseMs: number, tell: (what: T) => void): (what: T) => void {
  let toldMs = -Infinity;
  return (what) => {
    if (performance.now() - toldMs < pauseMs) return;
    toldMs = performance.now();
    tell(what);
  };
}

/** What cannot be sent is lost; the process ends without it. */
async function withinOrSo(limitMs: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([work.catch(() => undefined), late]).finally(() => clearTimeout(timer));
}
