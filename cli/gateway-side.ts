/** The gateway's half of a process: the application over a storage, a relay and a waker, listening. */
import type { RequestListener } from 'node:http';
import type { Logger } from 'pino';
import { createApp } from '../api/app.js';
import { defaultSettings } from '../api/deps.js';
import type { GatewayDeps } from '../api/deps.js';
import { listen } from '../api/server.js';
import { createWaitingApp } from '../api/waiting-app.js';
import type { Listening } from '../api/server.js';
import type { Config } from '../config/config.js';
import type { Metrics } from '../metrics/metrics.js';
import type { TemporalLink } from '../temporal/connection.js';
import { projectGate, type ProjectGate } from './project-http.js';
import type { Tracing } from '../tracing/tracing.js';

export interface GatewaySideDeps extends Pick<
  GatewayDeps,
  'storage' | 'relay' | 'wake' | 'graphs' | 'queues'
> {
  readonly temporal: TemporalLink;
  readonly log: Logger;
  readonly metrics: Pick<Metrics, 'requests'>;
  readonly tracing: Pick<Tracing, 'requests'>;
}

export async function startGatewaySide(deps: GatewaySideDeps, config: Config): Promise<Listening> {
  const closing = new AbortController();
  const { host, port } = config;
  const gate = await projectGate(config, deps.log);
  return await listen(appOf({ ...deps, ...gate }, config, closing.signal), { host, port, closing });
}

/** A gateway that listens already: it is up, and not ready. */
export interface EarlyGateway extends Pick<Listening, 'url' | 'close'> {
  /** From now on it is the gateway. */
  serve(deps: GatewaySideDeps): void;
}

/** @throws Error that names the port when it is taken */
export async function listenEarly(config: Config, log: Logger): Promise<EarlyGateway> {
  const closing = new AbortController();
  const { host, port } = config;
  const gate = await projectGate(config, log);
  const listening = await listen(createWaitingApp(log), { host, port, closing });
  return {
    url: listening.url,
    close: () => listening.close(),
    serve: (deps) => listening.answerWith(appOf({ ...deps, ...gate }, config, closing.signal)),
  };
}

function appOf(
  deps: GatewaySideDeps & ProjectGate,
  config: Config,
  closing: AbortSignal,
): RequestListener {
  const { temporal, metrics, tracing, ...rest } = deps;
  const app = createApp({
    ...rest,
    settings: { ...defaultSettings, ...config.requestLimits, waitMs: config.requestWaitMs },
    ready: () => temporalReady(temporal),
    closing,
  });
  return tracing.requests(metrics.requests(app));
}

/** Names `temporal` when it does not answer. */
async function temporalReady(temporal: TemporalLink): Promise<readonly string[]> {
  try {
    await temporal.call((client) => client.workflowService.getSystemInfo({}));
    return [];
  } catch {
    return ['temporal'];
  }
}
