// OTLP's ExportTraceServiceRequest in protobuf, read into the shape that it has in JSON.
import protobuf from 'protobufjs';
import type { TraceRequest } from './otlp-receiver.js';

/** The fields that we read; a decoder skips all others. */
const schema = `
syntax = "proto3";
message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message Resource { repeated KeyValue attributes = 1; }
message ScopeSpans { repeated Span spans = 2; }
message Span {
  bytes trace_id = 1;
  bytes span_id = 2;
  bytes parent_span_id = 4;
  string name = 5;
  fixed64 start_time_unix_nano = 7;
  fixed64 end_time_unix_nano = 8;
  repeated KeyValue attributes = 9;
  Status status = 15;
}
message Status { int32 code = 3; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue {
  oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; }
}`;

const request = protobuf.parse(schema).root.lookupType('ExportTraceServiceRequest');

/** Ids are bytes there and hex in JSON; whole numbers are long there. */
export function readProtobuf(body: Buffer): TraceRequest {
  const shape = request.toObject(request.decode(body), { longs: String, arrays: true }) as unknown;
  return JSON.parse(JSON.stringify(shape), (key, value: unknown) => {
    if (key === 'intValue') return Number(value);
    return isBytes(value) ? Buffer.from(value.data).toString('hex') : value;
  }) as TraceRequest;
}

/** What `JSON.stringify` makes of a Buffer. */
const isBytes = (value: unknown): value is { readonly data: readonly number[] } =>
  typeof value === 'object' && value !== null && 'type' in value && value.type === 'Buffer';
