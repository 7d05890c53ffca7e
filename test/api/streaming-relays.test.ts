/** What a client may rely on whatever carries the frames: one process, NOTIFY, or nothing at all (S1). */
import { afterEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { Relay } from '../../contracts/frames.js';
import { localRelay } from '../../storage/relay-local.js';
import { postgresRelay } from '../../storage/relay-postgres.js';
import { shardCount, shardOf } from '../../storage/relay-shards.js';
import { createPostgresDatabase } from '../support/database.js';
import { until } from '../support/until.js';
import {
  type Gateway,
  playedWorkers,
  shownText,
  startGateway,
  type Worker,
  workerOn,
} from './gateway-under-test.js';
import { silentRelay } from '../support/silent-relay.js';

const undo: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

async function overNotify(): Promise<Relay> {
  const { url, drop } = await createPostgresDatabase();
  const relay = await postgresRelay({ url, store: 'teststore', onTrouble: () => undefined });
  undo.push(drop, () => relay.close());
  await hearAll(relay);
  return relay;
}

/** A shard is not heard at once; what is missed until then is healed by drafts, and not what these tests are about. */
async function hearAll(relay: Relay): Promise<void> {
  const turns = new Map<number, string>();
  while (turns.size < shardCount) {
    const turn = randomUUID();
    turns.set(shardOf(turn), turn);
  }
  const probe = {
    fence: 1,
    step: 0,
    seq: 1,
    kind: 'token',
    data: { message_id: '', text: '' },
  } as const;
  const heard = new Set<string>();
  for (const turn of turns.values()) relay.subscribe(turn, () => heard.add(turn));
  await until('all shards', () => {
    relay.publish([...turns.values()].map((turn) => ({ ...probe, turn })));
    return heard.size === shardCount || undefined;
  });
}

const relays: readonly (readonly [string, () => Promise<Relay>])[] = [
  ['one process', () => Promise.resolve(localRelay())],
  ['NOTIFY', overNotify],
  ['nothing', () => Promise.resolve(silentRelay())],
];

const say = { message: 'go' };

describe.each(relays)('streams over %s', (_, open) => {
  const workers = playedWorkers();
  const begin = async (): Promise<Gateway> => {
    const gateway = await startGateway({ work: workers.work, relay: await open() });
    undo.push(() => gateway.close());
    return gateway;
  };
  /** What a worker of another process does for late joiners. */
  const draft = async (
    { storage }: Gateway,
    { claim }: Worker,
    seq: number,
    text: string,
  ): Promise<void> => {
    const place = { thread: claim.thread, turn: claim.turnId, fence: claim.fence, step: 0 };
    await storage.claims.saveDrafts([{ claim, draft: { ...place, seq, text } }]);
  };

  test('S1 S2 every reader ends with the committed text, and done is the row', async () => {
    const gateway = await begin();
    const mine = await gateway.stream('/v1/threads/t/turns', say);
    const worker = await workers.next();
    worker.token('one ');
    worker.token('two ');
    await draft(gateway, worker, 2, 'one two ');
    const route = `/v1/threads/t/turns/${worker.claim.turnId}`;
    const late = await gateway.join(`${route}/stream`);
    expect((await late.until('snapshot')).json.text).toBe('one two ');
    worker.token('three');
    await worker.reply('one two three');
    const row = await gateway.get(route);
    for (const stream of [mine, late]) {
      const events = await stream.rest();
      expect(shownText(events)).toBe('one two three');
      expect(events.at(-1)).toMatchObject({ event: 'done', json: row.json });
    }
    const settled = await gateway.join(`${route}/stream`);
    expect(shownText(await settled.rest())).toBe('one two three');
  });

  test('P10 S2 a lost worker: what was shown of it is reset, and its heir has the last word', async () => {
    const gateway = await begin();
    await gateway.post('/v1/threads/t/turns', say, { prefer: 'respond-async' });
    const lost = await workers.next();
    lost.token('lost');
    await draft(gateway, lost, 1, 'lost');
    const late = await gateway.join(`/v1/threads/t/turns/${lost.claim.turnId}/stream`);
    await late.until('snapshot');
    const heir = await workerOn(gateway.storage, gateway.relay, { thread: lost.claim.thread });
    heir.token('found');
    await late.until('reset');
    lost.token(' zombie');
    await heir.reply('found');
    expect(shownText(await late.rest())).toBe('found');
  });

  test('S2 Last-Event-ID: no event id comes twice, and the text is whole', async () => {
    const gateway = await begin();
    const first = await gateway.stream('/v1/threads/t/turns', say);
    const worker = await workers.next();
    for (const text of ['a', 'b', 'c']) worker.token(text);
    await draft(gateway, worker, 2, 'ab');
    const id = `${worker.claim.turnId}.${worker.claim.fence}.3`;
    first.leave();
    const route = `/v1/threads/t/turns/${worker.claim.turnId}/stream`;
    const again = await gateway.join(route, { 'last-event-id': id });
    await again.until('snapshot');
    worker.token('d');
    await worker.reply('abcd');
    const events = await again.rest();
    expect(shownText(events)).toBe('abcd');
    const ids = events.flatMap((e) => e.id ?? []);
    expect(ids.filter((seen) => Number(seen.split('.').at(-1)) <= 3)).toEqual([]);
  });

  test('S4 a failure, a cancel and a delete end a stream with the problem', async () => {
    const gateway = await begin();
    const failing = await gateway.stream('/v1/threads/f/turns', say);
    const failure = { code: 'node_error', message: 'A node threw.' } as const;
    await (await workers.next()).settle({ kind: 'failed', failure });
    expect((await failing.rest()).at(-1)?.json.code).toBe('turn_failed');
    const cancelled = await gateway.stream('/v1/threads/c/turns', say);
    const { claim } = await workers.next();
    await gateway.post(`/v1/threads/c/turns/${claim.turnId}/cancel`, {});
    expect((await cancelled.rest()).at(-1)?.json.code).toBe('turn_cancelled');
    const deleted = await gateway.stream('/v1/threads/d/turns', say);
    await workers.next();
    await gateway.delete('/v1/threads/d');
    expect((await deleted.rest()).at(-1)?.json.code).toBe('thread_deleted');
  });

  test('stream modes are shown to those who asked, and only to them', async () => {
    const gateway = await begin();
    const asking = { ...say, stream_mode: ['updates', 'values'] };
    const asked = await gateway.stream('/v1/threads/t/turns', asking);
    const worker = await workers.next();
    expect(worker.turn.stream).toBe(true);
    const plain = await gateway.join(`/v1/threads/t/turns/${worker.claim.turnId}/stream`);
    await plain.until('accepted');
    worker.token('he');
    worker.emit({ kind: 'mode', data: { event: 'updates', data: { a: { n: 1 } } } });
    worker.emit({ kind: 'mode', data: { event: 'updates|child:1', data: { b: { n: 1 } } } });
    worker.token('llo');
    // A poll that finds the turn settled ends the stream, whatever is still on its way.
    if (_ !== 'nothing') await asked.until('updates');
    await worker.reply('hello');
    const names = new Set((await asked.rest()).map((e) => e.event));
    expect(names.has('updates|child:1')).toBe(false);
    expect(names.has('updates')).toBe(_ !== 'nothing');
    expect((await plain.rest()).map((e) => e.event)).not.toContain('updates');
    expect(shownText(plain.events)).toBe('hello');
  });
});

describe('what a request may ask of its stream', () => {
  test('A1 modes are checked, in the body and in the query', async () => {
    const gateway = await startGateway({ relay: localRelay() });
    undo.push(() => gateway.close());
    const wrong = await gateway.post('/v1/threads/t/turns', { ...say, stream_mode: 'tokens' });
    expect([wrong.status, wrong.json.code]).toEqual([400, 'invalid_request']);
    const turn = await gateway.post('/v1/threads/t/turns', { ...say, stream_mode: 'debug' });
    expect(turn.status).toBe(200);
    const route = `/v1/threads/t/turns/${turn.json.turn_id}/stream`;
    expect((await gateway.get(`${route}?stream_mode=all`)).status).toBe(400);
    const joined = await gateway.get(`${route}?stream_mode=updates,values&stream_subgraphs=true`);
    expect([joined.status, joined.raw.includes('event: done')]).toEqual([200, true]);
    const other = await gateway.get(`/v1/threads/other/turns/${turn.json.turn_id}/stream`);
    expect(other.status).toBe(404);
  });
});
