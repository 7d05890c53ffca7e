/** The compose file's profile parcel-bot, as the processes that its containers run. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { readCompose } from '../../bench/rehearsal/compose-file.js';
import { addReplicas, emptyCast, runToEnd, stopCast } from '../../bench/rehearsal/services.js';
import { createClient } from '../../client/client.js';
import { createPostgresDatabase } from '../support/database.js';
import { startTestTemporal } from '../support/temporal-server.js';

const services = readCompose(readFileSync('docker-compose.yml', 'utf8'));
const named = (name: string) => services.find((service) => service.name === name)!;
const cast = emptyCast();

beforeAll(async () => {
  const database = await createPostgresDatabase();
  const temporal = await startTestTemporal();
  cast.stops.push(database.drop, () => temporal.stop());
  const inFile = named('parcel-bot-gateway').environment.EVERTHREAD_POSTGRES_URL!;
  cast.addresses.set(inFile, database.url).set('temporal:7233', temporal.address);
});
afterAll(() => stopCast(cast));

test('gateway and worker of the example start as the file says and give its lines one by one', async () => {
  await runToEnd(cast, named('setup'));
  for (const name of ['parcel-bot-gateway', 'parcel-bot-worker'])
    await addReplicas(cast, named(name), 1);
  const gateway = cast.replicas[0]!;
  const client = createClient(`http://127.0.0.1:${gateway.port}`);
  const arrivals: number[] = [];
  let done: unknown;
  for await (const event of client.stream('parcel', { message: 'where?', graph: 'blocking' })) {
    if (event.event === 'token') arrivals.push(performance.now());
    if (event.event === 'done') done = event.data;
  }
  expect(done).toMatchObject({ status: 'committed' });
  expect(arrivals.length).toBeGreaterThan(5);
  // A lump would be there within milliseconds; the example's lines are 300 ms apart.
  expect(arrivals.at(-1)! - arrivals[0]!).toBeGreaterThan(1_000);
});
