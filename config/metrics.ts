/** Where a process shows its metrics. */
import type { SettingReader } from './problems.js';
import * as shape from './shapes.js';

/** Null: nothing is counted. They hold names of graphs and numbers, so another host than this one needs no second consent. */
export type MetricsConfig = { readonly host: string; readonly port: number } | null;

export function resolveMetrics(reader: SettingReader): MetricsConfig {
  const port = reader.read('EVERTHREAD_METRICS_PORT', shape.port, null);
  const host = reader.read('EVERTHREAD_METRICS_HOST', shape.host, '127.0.0.1');
  return port === null ? null : { host, port };
}
