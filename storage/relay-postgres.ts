/**
 * The relay of many processes: NOTIFY on fixed channels, packed, on connections of its own and never inside a commit, which
 * it would make three times slower (measured, DESIGN 7). Losing frames is allowed: waiting gateways poll the row.
 */
import type { Relay } from '../contracts/frames.js';
import { frameReader } from './relay-packing.js';
import { frameQueue, type QueueObserver } from './relay-queue.js';
import { type Shard, shardListener } from './relay-shards.js';
import { steadyClient } from './steady-client.js';

export interface PostgresRelayOptions {
  readonly url: string;
  /** The database's store id: two stores of one server never hear each other. */
  readonly store: string;
  readonly onTrouble: (what: string) => void;
  readonly observer?: QueueObserver | undefined;
}

/** Begins with or without a database: a connection that fails is opened again for as long as it takes. */
export async function postgresRelay(options: PostgresRelayOptions): Promise<Relay> {
  const channelOf = (shard: Shard): string => `everthread_${options.store}_${shard}`;
  const shards = shardListener({
    listen: (shard) => receiver.run(`LISTEN ${channelOf(shard)}`),
    unlisten: (shard) => receiver.run(`UNLISTEN ${channelOf(shard)}`),
  });
  const receiver = steadyClient(options, async (client) => {
    const readFrames = frameReader();
    client.on('notification', ({ payload }) => {
      for (const frame of readFrames(payload ?? '')) shards.deliver(frame);
    });
    for (const shard of shards.wanted()) await client.query(`LISTEN ${channelOf(shard)}`);
    shards.poke();
  });
  const sender = steadyClient(options, () => Promise.resolve());
  const queue = frameQueue(async (batch) => {
    const channels = batch.map(({ shard }) => channelOf(shard));
    const payloads = batch.map(({ payload }) => payload);
    await sender.run(
      'SELECT pg_notify(c, p) FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS q (c, p, n) ORDER BY n',
      [channels, payloads],
    );
  }, options.observer);
  await Promise.all([receiver.tried, sender.tried]);

  return {
    publish: (frames) => queue.push(frames),
    subscribe: (turn, onFrame) => shards.subscribe(turn, onFrame),
    hearable: (turn) => shards.hearable(turn),
    onWake: (turn, onWake) => shards.onWake(turn, onWake),
    shown: () => undefined,
    async close() {
      await queue.drain();
      shards.close();
      await Promise.all([receiver.close(), sender.close()]);
    },
  };
}
