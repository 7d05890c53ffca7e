/** Whether and how traces are sent: the standard variables of OpenTelemetry. What is not read here the SDK reads itself. */
import type { Command } from './config.js';
import type { SettingReader } from './problems.js';
import * as shape from './shapes.js';

/** Null: no span is made, and nothing of the SDK is loaded. */
export type TracingConfig = {
  readonly serviceName: string;
  readonly protocol: 'http/protobuf' | 'http/json';
} | null;

export function resolveTracing(reader: SettingReader, command: Command): TracingConfig {
  const wanted = (
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'] as const
  ).filter((name) => reader.read(name, shape.httpUrl, undefined) !== undefined);
  // The names that the standard gives; only HTTP is spoken, which every collector hears on 4318.
  const spoken = shape.oneOf('http/protobuf', 'http/json');
  const protocol = reader.read(
    'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL',
    spoken,
    reader.read('OTEL_EXPORTER_OTLP_PROTOCOL', spoken, 'http/protobuf'),
  );
  const exporter = reader.read('OTEL_TRACES_EXPORTER', shape.oneOf('otlp', 'none'), 'otlp');
  const disabled = reader.read('OTEL_SDK_DISABLED', shape.flag, false);
  if (wanted.length === 0 || exporter === 'none' || disabled) return null;
  const serviceName = command === 'dev' ? 'everthread' : `everthread-${command}`;
  return { serviceName, protocol };
}
