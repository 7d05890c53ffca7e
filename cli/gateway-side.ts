/** The gateway's half of a process: the application over a storage, a relay and a waker, listening. */
import type { Logger } from 'pino';
import { createApp } from '../api/app.js';
import { defaultSettings, identifyEverybody } from '../api/deps.js';
import type { GatewayDeps } from '../api/deps.js';
import { listen } from '../api/server.js';
import type { Listening } from '../api/server.js';
import type { Config } from '../config/config.js';
import type { TemporalLink } from '../temporal/connection.js';

export interface GatewaySideDeps extends Pick<
  GatewayDeps,
  'storage' | 'relay' | 'wake' | 'graphs'
> {
  readonly temporal: TemporalLink;
  readonly log: Logger;
}

export async function startGatewaySide(deps: GatewaySideDeps, config: Config): Promise<Listening> {
  const { temporal, ...rest } = deps;
  const closing = new AbortController();
  const app = createApp({
    ...rest,
    identify: identifyEverybody,
    settings: { ...defaultSettings, waitMs: config.requestWaitMs },
    ready: () => temporalReady(temporal),
    closing: closing.signal,
  });
  return await listen(app, { host: config.host, port: config.port, closing });
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
