/** One port, two relays: what both keep, and what only the one of many processes can get wrong. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { Frame, FrameBody, Relay } from '../../contracts/frames.js';
import { localRelay } from '../../storage/relay-local.js';
import { frameReader, packFrames } from '../../storage/relay-packing.js';
import { postgresRelay } from '../../storage/relay-postgres.js';
import { shardOf } from '../../storage/relay-shards.js';
import { createPostgresDatabase, onPostgres } from '../support/database.js';
import { until } from '../support/until.js';

/** Two ends of one relay: as two processes see it. */
interface Ends {
  readonly worker: Relay;
  readonly gateway: Relay;
}

const undo: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

function oneProcess(): Promise<Ends> {
  const relay = localRelay();
  return Promise.resolve({ worker: relay, gateway: relay });
}

async function overNotify(): Promise<Ends & { readonly url: string }> {
  const { url, drop } = await createPostgresDatabase();
  const open = (): Promise<Relay> =>
    postgresRelay({ url, store: 'teststore', onTrouble: () => undefined });
  const worker = await open();
  const gateway = await open();
  undo.push(drop, async () => {
    await Promise.all([worker.close(), gateway.close()]);
  });
  return { worker, gateway, url };
}

const frame = (turn: string, seq: number, body: FrameBody): Frame => ({
  ...body,
  ...{ turn, fence: 1, step: 0, seq },
});
const token = (turn: string, seq: number, text: string): Frame =>
  frame(turn, seq, { kind: 'token', data: { message_id: 'm', text } });
const wake = (turn: string, seq: number): Frame => frame(turn, seq, { kind: 'wake', data: null });

/** Subscribes, and waits until frames arrive: a shard is not listened to at once. */
async function listening(ends: Ends, turn: string): Promise<Frame[]> {
  const got: Frame[] = [];
  const end = ends.gateway.subscribe(turn, (f) => got.push(f));
  undo.push(() => {
    end();
    return Promise.resolve();
  });
  await until('frames to arrive', () => {
    ends.worker.publish([{ ...token(turn, 0, 'probe'), fence: 0 }]);
    return got.length > 0 || undefined;
  });
  await wakeSeen(ends, turn);
  return cleared(got);
}

const cleared = (got: Frame[]): Frame[] => {
  got.length = 0;
  return got;
};

/** Everything published before has been delivered: wakes come behind frames. */
async function wakeSeen({ worker, gateway }: Ends, turn: string): Promise<void> {
  await new Promise<void>((resolve) => {
    const end = gateway.onWake(turn, (fence) => {
      if (fence !== 1) return;
      end();
      resolve();
    });
    worker.publish([wake(turn, 0)]);
  });
}

const relays: readonly (readonly [string, () => Promise<Ends>])[] = [
  ['one process', oneProcess],
  ['NOTIFY', overNotify],
];

describe.each(relays)('a relay over %s', (_, open) => {
  test('S1 delivers the frames of a turn in order, each once, to every subscriber and to nobody else', async () => {
    const ends = await open();
    const [turn, other] = [randomUUID(), randomUUID()];
    const first = await listening(ends, turn);
    const second = await listening(ends, turn);
    cleared(first);
    const others = await listening(ends, other);
    const sent = Array.from({ length: 500 }, (_unused, i) => token(turn, i + 1, `t${i} `));
    for (let at = 0; at < sent.length; at += 7) ends.worker.publish(sent.slice(at, at + 7));
    await wakeSeen(ends, turn);
    expect(first).toEqual(sent);
    expect(second).toEqual(sent);
    expect(others).toEqual([]);
  });

  test('S1 a turn that is hearable misses no first frame', async () => {
    const ends = await open();
    const turns = Array.from({ length: 20 }, () => randomUUID());
    const got: Frame[] = [];
    for (const turn of turns) {
      await ends.gateway.hearable(turn);
      ends.gateway.subscribe(turn, (f) => got.push(f));
      ends.worker.publish([token(turn, 1, 'first')]);
    }
    await wakeSeen(ends, turns[0] ?? '');
    expect(got.map(({ turn }) => turn).sort()).toEqual([...turns].sort());
  });

  test('text of any script and frames of any size arrive as they were', async () => {
    const ends = await open();
    const turn = randomUUID();
    const got = await listening(ends, turn);
    const sent = [
      token(turn, 1, 'naïve 漢字 👩‍👩‍👧 "quoted" \n\r\t \u2028 \u007f'),
      token(turn, 2, '漢'.repeat(20_000)),
      frame(turn, 3, { kind: 'custom', data: { deep: [{ a: 'x'.repeat(60_000) }] } }),
      token(turn, 4, ''),
    ];
    ends.worker.publish(sent);
    await wakeSeen(ends, turn);
    expect(got).toEqual(sent);
  });

  test('wakes reach those who wait, and only them; a subscription that has ended hears nothing', async () => {
    const ends = await open();
    const turn = randomUUID();
    const got = await listening(ends, turn);
    const fences: (number | undefined)[] = [];
    const end = ends.gateway.onWake(turn, (fence) => fences.push(fence));
    ends.worker.publish([token(turn, 1, 'a'), { ...wake(turn, 2), fence: 7 }]);
    await until('the wake', () => fences.includes(7) || undefined);
    expect(got).toEqual([token(turn, 1, 'a')]);
    end();
    ends.worker.publish([{ ...wake(turn, 3), fence: 8 }]);
    await wakeSeen(ends, turn);
    expect(fences).not.toContain(8);
  });

  test('what is no JSON costs nobody else a frame', async () => {
    const ends = await open();
    const turn = randomUUID();
    const got = await listening(ends, turn);
    ends.worker.publish([frame(turn, 1, { kind: 'custom', data: 1n }), token(turn, 2, 'goes on')]);
    await wakeSeen(ends, turn);
    expect(got.at(-1)).toEqual(token(turn, 2, 'goes on'));
  });
});

describe('the relay over NOTIFY', () => {
  test('hears only the shards of the turns that it shows', async () => {
    const ends = await overNotify();
    const turn = randomUUID();
    await listening(ends, turn);
    const heard = await onPostgres(ends.url, (client) =>
      client.query<{ query: string }>(
        `SELECT query FROM pg_stat_activity WHERE application_name = 'everthread relay' AND query LIKE 'LISTEN%'`,
      ),
    );
    expect(heard.rows.map(({ query }) => query)).toContain(
      `LISTEN everthread_teststore_${shardOf(turn)}`,
    );
  });

  test('a cut connection is opened again, and whoever waits is told to look', async () => {
    const ends = await overNotify();
    const turn = randomUUID();
    const got = await listening(ends, turn);
    const told: (number | undefined)[] = [];
    ends.gateway.onWake(turn, (fence) => told.push(fence));
    await onPostgres(ends.url, (client) =>
      client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'everthread relay'`,
      ),
    );
    await until('news without a fence', () => told.includes(undefined) || undefined);
    await until('frames again', () => {
      ends.worker.publish([token(turn, 1, 'again')]);
      return got.some((f) => f.seq === 1) || undefined;
    });
  });

  test('the queue is bounded: tokens are dropped, the wake behind them is not', async () => {
    const ends = await overNotify();
    const turn = randomUUID();
    const got = await listening(ends, turn);
    const text = 'x'.repeat(4_000);
    for (let seq = 1; seq <= 5_000; seq++) ends.worker.publish([token(turn, seq, text)]);
    await wakeSeen(ends, turn);
    expect(got.length).toBeGreaterThan(1_000);
    expect(got.length).toBeLessThan(4_000);
    expect(got.map((f) => f.seq)).toEqual(got.map((_, i) => i + 1));
  });

  test('payloads fit, and parts of a long frame that is cut short harm nobody', () => {
    const written = Array.from({ length: 200 }, (_, i) => {
      const f = token('t', i + 1, '漢'.repeat((i * 37) % 5_000));
      return { frame: f, text: JSON.stringify(f) };
    });
    const payloads = packFrames(written);
    for (const payload of payloads) expect(Buffer.byteLength(payload)).toBeLessThan(8_000);
    const read = frameReader();
    expect(payloads.flatMap((p) => read(p))).toEqual(written.map(({ frame: f }) => f));
    const late = frameReader();
    const missed = payloads.findIndex((p) => p.startsWith('{"part"')) + 1;
    const heard = payloads.slice(missed).flatMap((p) => late(p));
    expect(heard.length).toBeGreaterThan(100);
    for (const f of heard) expect(written[f.seq - 1]?.frame).toEqual(f);
    expect(frameReader()('not ours')).toEqual([]);
  });
});
