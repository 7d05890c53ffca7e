// A collector of traces: takes OTLP over HTTP, as `OTEL_EXPORTER_OTLP_PROTOCOL` `http/json` and `http/protobuf` send it.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readProtobuf } from './otlp-protobuf.js';
import { until } from './until.js';

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty in the first span of a trace. */
  readonly parentSpanId: string;
  readonly name: string;
  readonly service: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly failed: boolean;
  readonly startNs: bigint;
  readonly endNs: bigint;
}

export interface OtlpReceiver {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** All that was sent, as it came. */
  text(): string;
  /** Waits until a trace holds a span of each name. @returns all its spans so far */
  trace(traceId: string, ...names: string[]): Promise<readonly ReceivedSpan[]>;
  close(): Promise<void>;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const bodies: string[] = [];
  const spans: ReceivedSpan[] = [];
  const server = createServer((request, response) => {
    void request.toArray().then((chunks) => {
      const body = Buffer.concat(chunks as Buffer[]);
      const type = request.headers['content-type'] ?? '';
      const read = request.url === '/v1/traces' ? readers[type] : undefined;
      if (read !== undefined) {
        bodies.push(body.toString('utf8'));
        spans.push(...spansOf(read(body)));
      }
      // An empty answer of either kind.
      response.setHeader('content-type', type).end(type === 'application/json' ? '{}' : '');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    text: () => bodies.join('\n'),
    trace: (traceId, ...names) =>
      until(`a trace with ${names.join(', ')}`, () => {
        const all = spans.filter((span) => span.traceId === traceId);
        return names.every((name) => all.some((span) => span.name === name)) ? all : undefined;
      }),
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** A span's forebears, nearest first. */
export function above(span: ReceivedSpan, spans: readonly ReceivedSpan[]): readonly ReceivedSpan[] {
  const parent = spans.find(({ spanId }) => spanId === span.parentSpanId);
  return parent === undefined ? [] : [parent, ...above(parent, spans)];
}

const readers: Readonly<Record<string, (body: Buffer) => TraceRequest>> = {
  'application/json': (body) => JSON.parse(body.toString('utf8')) as TraceRequest,
  'application/x-protobuf': readProtobuf,
};

/** What we read of OTLP's ExportTraceServiceRequest, as JSON has it. */
export interface TraceRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}
interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes: readonly KeyValue[];
  readonly status?: { readonly code?: number };
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
}
interface KeyValue {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

const failedCode = 2;

const spansOf = ({ resourceSpans }: TraceRequest): ReceivedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        ...{ traceId: span.traceId, spanId: span.spanId, name: span.name },
        parentSpanId: span.parentSpanId ?? '',
        service: String(valuesOf(resource.attributes)['service.name']),
        attributes: valuesOf(span.attributes),
        failed: span.status?.code === failedCode,
        startNs: BigInt(span.startTimeUnixNano),
        endNs: BigInt(span.endTimeUnixNano),
      })),
    ),
  );

const valuesOf = (pairs: readonly KeyValue[]): Record<string, unknown> =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, Object.values(value)[0]]));
