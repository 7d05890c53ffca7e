/** What traces cost a turn: the same product with and without a collector that takes them. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inTurns, threadsInTurns } from '../in-turns.js';
import { fixtureEnv, startProduct } from '../product.js';
import type { Product } from '../product.js';
import type { Stage } from '../stage.js';
import type { Table } from '../table.js';

export async function tracesTables(stage: Stage): Promise<readonly Table[]> {
  const { address: temporalAddress } = await stage.temporal();
  const collector = await startCollector(stage);
  const start = async (name: string, tracing: Record<string, string> = {}): Promise<Product> => {
    const env = { ...fixtureEnv(stage), ...tracing };
    return startProduct(stage, { name, env, temporalAddress });
  };
  const title = `CPU of a one-node turn at ${threadsInTurns} threads, Temporal included: with traces against without (medians of the rounds)`;
  const table = await inTurns(stage, title, [
    { label: 'no traces', product: await start('untraced') },
    {
      label: 'every turn traced, OTLP as protobuf',
      product: await start('traced', { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }),
    },
  ]);
  if (collector.bytes() === 0) throw new Error('No trace has come.');
  return [table];
}

/** Takes what is sent and keeps nothing. */
async function startCollector(stage: Stage) {
  let bytes = 0;
  const server = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => (bytes += chunk.length));
    request.once('end', () => response.end());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  stage.parts.add(server, () => void server.close());
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, bytes: () => bytes };
}
