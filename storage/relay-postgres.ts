/**
 * The relay of many processes: NOTIFY on one channel, packed, on connections of its own and never inside a commit, which
 * it would make three times slower (measured, DESIGN 7). Losing frames is allowed: waiting gateways poll the row.
 */
import pg from 'pg';
import type { Frame, Relay } from '../contracts/frames.js';
import { frameReader, packFrames } from './relay-packing.js';

/** After a flush the next one waits this long, so that a burst of tokens is one statement; the first goes at once. */
const flushEveryMs = 15;
/** Frames beyond this wait for nobody: tokens are dropped, the draft row has their text. */
const maxQueuedFrames = 20_000;
/** A half-open connection tells nothing by itself: it is asked this often. */
const healthEveryMs = 5_000;
const connectTimeoutMs = 5_000;
const firstReconnectMs = 100;
const longestReconnectMs = 5_000;

export interface PostgresRelayOptions {
  readonly url: string;
  /** The database's store id: two stores of one server never hear each other. */
  readonly store: string;
  readonly onTrouble: (what: string) => void;
}

export async function postgresRelay(options: PostgresRelayOptions): Promise<Relay> {
  const channel = `everthread_${options.store}`;
  const listeners = new Map<string, Set<(frame: Frame) => void>>();
  let readFrames = frameReader();
  const receiver = steadyClient(options, async (client) => {
    readFrames = frameReader();
    client.on('notification', ({ payload }) => {
      for (const frame of readFrames(payload ?? ''))
        for (const listener of [...(listeners.get(frame.turn) ?? [])]) listener(frame);
    });
    await client.query(`LISTEN ${channel}`);
  });
  const sender = steadyClient(options, () => Promise.resolve());
  const queue = frameQueue(async (payloads) => {
    await sender
      .client()
      ?.query('SELECT pg_notify($1, p) FROM unnest($2::text[]) AS p', [channel, payloads]);
  });
  await Promise.all([receiver.ready, sender.ready]);

  return {
    publish: (frames) => queue.push(frames),
    subscribe(turn, onFrame) {
      const set = listeners.get(turn) ?? new Set();
      listeners.set(turn, set.add(onFrame));
      return () => {
        set.delete(onFrame);
        if (set.size === 0) listeners.delete(turn);
      };
    },
    shown: () => undefined,
    async close() {
      await queue.drain();
      await Promise.all([receiver.close(), sender.close()]);
    },
  };
}

/** Collects frames; one statement in flight, leading edge first. */
function frameQueue(send: (payloads: readonly string[]) => Promise<void>): {
  push(frames: readonly Frame[]): void;
  drain(): Promise<void>;
} {
  let waiting: Frame[] = [];
  let flushing: Promise<void> | undefined;
  const flush = async (): Promise<void> => {
    while (waiting.length > 0) {
      const frames = waiting;
      waiting = [];
      try {
        await send(packFrames(frames));
      } catch {
        // Lost frames cost a viewer a poll; the connection mends itself.
      }
      await new Promise((resolve) => setTimeout(resolve, flushEveryMs));
    }
    flushing = undefined;
  };
  return {
    push(frames) {
      const room = waiting.length < maxQueuedFrames;
      waiting.push(...(room ? frames : frames.filter((frame) => frame.kind === 'wake')));
      flushing ??= flush();
    },
    drain: async () => flushing,
  };
}

interface SteadyClient {
  readonly ready: Promise<void>;
  client(): pg.Client | undefined;
  close(): Promise<void>;
}

/** A connection that is opened again whenever it breaks or goes silent. */
function steadyClient(
  options: PostgresRelayOptions,
  prepare: (client: pg.Client) => Promise<void>,
): SteadyClient {
  let current: pg.Client | undefined;
  let closed = false;
  const open = async (): Promise<pg.Client> => {
    const client = new pg.Client({
      connectionString: options.url,
      application_name: 'everthread relay',
      connectionTimeoutMillis: connectTimeoutMs,
      query_timeout: connectTimeoutMs,
    });
    const broken = new Promise<void>((resolve) => {
      client.on('error', () => resolve());
      client.on('end', () => resolve());
    });
    await client.connect();
    await prepare(client);
    void broken.then(() => {
      if (client === current) void reopen();
    });
    return client;
  };
  const reopen = async (): Promise<void> => {
    current = undefined;
    for (
      let waitMs = firstReconnectMs;
      !closed;
      waitMs = Math.min(waitMs * 2, longestReconnectMs)
    ) {
      try {
        current = await open();
        return;
      } catch {
        options.onTrouble('the relay connection is down; viewers are served by polling');
        await new Promise((resolve) => setTimeout(resolve, waitMs * (0.5 + Math.random())));
      }
    }
  };
  const health = setInterval(() => {
    const asked = current;
    asked?.query('SELECT 1').catch(() => void asked.end().catch(() => undefined));
  }, healthEveryMs);
  health.unref();
  return {
    ready: open().then((client) => void (current = client)),
    client: () => current,
    async close() {
      closed = true;
      clearInterval(health);
      const last = current;
      current = undefined;
      await last?.end();
    },
  };
}
