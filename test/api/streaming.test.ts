import { afterEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Frame, Relay } from '../../contracts/frames.js';
import { localRelay } from '../../storage/relay-local.js';
import {
  type Gateway,
  type Options,
  playedWorkers,
  type Seen,
  shownText,
  startGateway,
  workerOn,
} from './gateway-under-test.js';

let gateway: Gateway;
const workers = playedWorkers();
const begin = async (options: Options = {}): Promise<Gateway> =>
  (gateway = await startGateway({ work: workers.work, ...options }));
afterEach(() => gateway.close());

const names = (events: readonly Seen[]): string[] => events.map((e) => e.event);
const say = { message: 'go' };
/** A relay whose subscribers get only what `passes`; what it shows to joiners is whole. */
const lossyRelay = (passes: (frame: Frame) => boolean): Relay => {
  const inner = localRelay();
  return {
    ...inner,
    subscribe: (turn, onFrame) =>
      inner.subscribe(turn, (frame) => {
        if (passes(frame)) onFrame(frame);
      }),
  };
};

describe('P10 what viewers are shown', () => {
  test('S2 tokens come one by one under unique ids, and all viewers end with the committed text', async () => {
    await begin();
    const mine = await gateway.stream('/v1/threads/t/turns', say);
    const worker = await workers.next();
    worker.token('one ');
    worker.token('two ');
    await mine.until('token', 2);
    const { turnId, fence } = worker.claim;
    const late = await gateway.join(`/v1/threads/t/turns/${turnId}/stream`);
    await late.until('snapshot');
    worker.token('three');
    await worker.reply('one two three');
    expect(names(await mine.rest())).toEqual(['accepted', 'token', 'token', 'token', 'done']);
    expect(names(await late.rest())).toEqual(['accepted', 'snapshot', 'token', 'done']);
    expect(mine.events.slice(1, 4).map((e) => e.id)).toEqual(
      [1, 2, 3].map((seq) => `${turnId}.${fence}.${seq}`),
    );
    expect(mine.events[1]?.json).toEqual({ message_id: 'm1', text: 'one ' });
    for (const { events } of [mine, late]) expect(shownText(events)).toBe('one two three');
  });

  test('S2 P10 a lost worker: reset once, the text of finished steps stays, the zombie is not shown', async () => {
    await begin();
    const stream = await gateway.stream('/v1/threads/t/turns', say);
    const lost = await workers.next();
    lost.token('kept ', 0);
    lost.emit({ kind: 'step', data: { nodes: ['a'], ms: 1 } }, 1);
    await finishStep(lost.claim);
    lost.token('lost', 1);
    const heir = await workerOn(gateway.storage, gateway.relay, { thread: lost.claim.thread });
    heir.emit({ kind: 'text', data: { text: 'kept ' } }, 1);
    heir.token('found', 1);
    lost.token(' zombie', 1);
    await heir.reply('kept found');
    const events = await stream.rest();
    expect(names(events)).toEqual([
      'accepted',
      'token',
      'step',
      'token',
      'reset',
      'snapshot',
      'token',
      'done',
    ]);
    expect(events[5]?.json).toEqual({ text: 'kept ' });
    expect(shownText(events)).toBe('kept found');
  });

  test('a yield is no reset', async () => {
    await begin();
    const stream = await gateway.stream('/v1/threads/t/turns', say);
    const first = await workers.next();
    first.token('one ', 0);
    first.emit({ kind: 'step', data: { nodes: ['a'], ms: 1 } }, 1);
    await finishStep(first.claim);
    await gateway.storage.claims.yield(first.claim);
    first.wake();
    const second = await workerOn(gateway.storage, gateway.relay, { thread: first.claim.thread });
    second.token('two', 1);
    await second.reply('one two');
    const events = await stream.rest();
    expect(names(events)).toEqual(['accepted', 'token', 'step', 'token', 'done']);
    expect(shownText(events)).toBe('one two');
  });

  test('a new claim is a reset even when no frame says so', async () => {
    let silent = false;
    await begin({ relay: lossyRelay(() => !silent) });
    const stream = await gateway.stream('/v1/threads/t/turns', say);
    const lost = await workers.next();
    lost.token('lost');
    await stream.until('token');
    silent = true;
    const heir = await workerOn(gateway.storage, gateway.relay, { thread: lost.claim.thread });
    await stream.until('reset');
    await heir.reply('found');
    const events = await stream.rest();
    expect(names(events)).toEqual(['accepted', 'token', 'reset', 'snapshot', 'done']);
    expect(shownText(events)).toBe('found');
  });

  test('a lost frame is healed by a snapshot, never by a hole in the text', async () => {
    await begin({ relay: lossyRelay((frame) => frame.seq !== 2) });
    const stream = await gateway.stream('/v1/threads/t/turns', say);
    const worker = await workers.next();
    for (const text of ['a', 'b', 'c']) worker.token(text);
    expect((await stream.until('snapshot')).json.text).toBe('abc');
    worker.token('d');
    await stream.until('token', 2);
    await worker.reply('abcd');
    expect(names(await stream.rest())).toEqual(['accepted', 'token', 'snapshot', 'token', 'done']);
  });

  test('S3 Last-Event-ID of another fence is reset; garbage is ignored; both get the full text', async () => {
    await begin();
    const posted = await gateway.stream('/v1/threads/t/turns', say);
    const lost = await workers.next();
    const heir = await workerOn(gateway.storage, gateway.relay, { thread: lost.claim.thread });
    heir.token('all of it');
    await posted.until('token');
    const route = `/v1/threads/t/turns/${heir.claim.turnId}/stream`;
    const { turnId } = heir.claim;
    const garbage = ['-1', '9'.repeat(400), 'NaN', '0x10', 'other.1.1', `${turnId}.999.1`];
    for (const id of [`${turnId}.2.1`, `${turnId}.2.999999`, ...garbage]) {
      const joined = await gateway.join(route, { 'last-event-id': id });
      expect((await joined.until('snapshot')).json.text).toBe('all of it');
      expect(names(joined.events)).not.toContain('reset');
      joined.leave();
    }
    const older = await gateway.join(route, { 'last-event-id': `${turnId}.1.7` });
    await older.until('snapshot');
    expect(names(older.events)).toEqual(['accepted', 'reset', 'snapshot']);
    await heir.reply('all of it');
    await older.rest();
  });

  test('what a node wrote may be no JSON: the stream goes on and the publisher hears nothing', async () => {
    await begin();
    const stream = await gateway.stream('/v1/threads/t/turns', say);
    const worker = await workers.next();
    worker.emit({ kind: 'custom', data: { n: 1 } });
    worker.emit({ kind: 'custom', data: { n: 1n } });
    await worker.reply('done');
    expect(names(await stream.rest())).toEqual(['accepted', 'custom', 'snapshot', 'done']);
  });
});

describe('how streams end', () => {
  test('a failure, a cancel and a delete end it with the problem', async () => {
    await begin();
    const failing = await gateway.stream('/v1/threads/f/turns', say);
    const failure = { code: 'node_error', message: 'A node threw.' } as const;
    await (await workers.next()).settle({ kind: 'failed', failure });
    expect((await failing.rest()).at(-1)).toMatchObject({
      event: 'error',
      json: { code: 'turn_failed', status: 502, failure: 'node_error' },
    });
    const cancelled = await gateway.stream('/v1/threads/c/turns', say);
    const { claim, token } = await workers.next();
    token('begun');
    const cancel = await gateway.post(`/v1/threads/c/turns/${claim.turnId}/cancel`, {});
    expect([cancel.status, cancel.json.status]).toEqual([200, 'cancelled']);
    expect(names(await cancelled.rest())).toEqual(['accepted', 'token', 'error']);
    expect(cancelled.events.at(-1)?.json.code).toBe('turn_cancelled');
    const deleted = await gateway.stream('/v1/threads/d/turns', say);
    await workers.next();
    expect((await gateway.delete('/v1/threads/d')).status).toBe(204);
    expect((await deleted.rest()).at(-1)?.json.code).toBe('thread_deleted');
  });

  test('S4 a reader that leaves cancels nothing', async () => {
    await begin();
    const stream = await gateway.stream('/v1/threads/t/turns', say);
    const worker = await workers.next();
    stream.leave();
    await stream.rest();
    await worker.reply('said to nobody');
    const turn = await gateway.get(`/v1/threads/t/turns/${worker.claim.turnId}`);
    expect(turn.json).toMatchObject({ status: 'committed', response: 'said to nobody' });
    const late = await gateway.join(`/v1/threads/t/turns/${worker.claim.turnId}/stream`);
    expect(shownText(await late.rest())).toBe('said to nobody');
  });

  test('a silent stream is kept alive by comments', async () => {
    await begin({ settings: { stream: { ...fast, pingMs: 20 } } });
    const { socket, got } = pausedReader('ping');
    socket.resume();
    const worker = await workers.next();
    while (!got().includes(': ping')) await once(socket, 'data');
    await worker.reply('x');
    await once(socket, 'close');
  });
});

const fast = { pingMs: 15_000, holdBytes: 64 << 10, cutBytes: 256 << 10, stallMs: 300 };
/** 24 MB in all: more than the kernel takes for a reader that does not read. */
const flood = 3_000;
const lump = 'x'.repeat(8_191) + ' ';

describe('readers that are slow', () => {
  test('S4 one that reads nothing is cut off, and the gateway keeps little for it', async () => {
    await begin({ settings: { stream: fast } });
    const { socket, got } = pausedReader('dead');
    const worker = await workers.next();
    const before = process.memoryUsage().external + process.memoryUsage().arrayBuffers;
    for (let i = 0; i < flood; i++) {
      worker.token(lump);
      // A burst within one tick is held back before the kernel has taken what it would.
      if (i % 4 === 0) await new Promise(setImmediate);
    }
    const grown = process.memoryUsage().external + process.memoryUsage().arrayBuffers - before;
    expect(grown).toBeLessThan(16 << 20);
    const others = gateway.stream('/v1/threads/alive/turns', say);
    await (await workers.next()).reply('alive');
    expect((await (await others).rest()).at(-1)?.event).toBe('done');
    const cut = once(socket, 'close');
    await untilCut();
    socket.resume();
    await cut;
    expect(got().length).toBeLessThan(0.75 * flood * lump.length);
    expect(got()).not.toContain('event: done');
    await worker.reply('over');
  });

  test('one that reads again gets the committed text', async () => {
    await begin({ settings: { stream: { ...fast, stallMs: 60_000 } } });
    const { socket, got } = pausedReader('slow');
    const worker = await workers.next();
    for (let i = 0; i < flood; i++) {
      worker.token(lump);
      if (i % 100 === 0) await new Promise(setImmediate);
    }
    await worker.reply('the end');
    socket.resume();
    await once(socket, 'close');
    const tail = got().slice(-2_000);
    expect(tail).toContain('event: snapshot\ndata: {"text":"the end"}');
    expect(tail).toContain('event: done');
  });
});

/** Posts a turn by a socket that does not read. */
function pausedReader(thread: string): {
  readonly socket: ReturnType<typeof connect>;
  got(): string;
} {
  const body = JSON.stringify(say);
  const socket = connect(gateway.port, '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.pause();
  socket.write(
    `POST /v1/threads/${thread}/turns HTTP/1.1\r\nhost: x\r\nconnection: close\r\naccept: text/event-stream\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  return { socket, got: () => Buffer.concat(chunks).toString('latin1') };
}

/** Waits until the gateway has logged the end of the stream of the dead reader. */
async function untilCut(): Promise<void> {
  while (!gateway.logged.some((line) => line.includes('"thread":"dead"'))) {
    await new Promise(setImmediate);
  }
}

/** A superstep is finished and flushed, without rows of its own. */
async function finishStep(
  claim: Parameters<typeof gateway.storage.claims.flush>[0],
): Promise<void> {
  const superstep = { finished: 1, ran: ['a'], next: ['b'] };
  const flushed = await gateway.storage.claims.flush(claim, {
    ...{ checkpoints: [], deltas: [], writes: [], superstep },
  });
  expect(flushed.kind).toBe('flushed');
}

describe('replies that are long', () => {
  test('S4 reach every reader whole, though few are held at once', async () => {
    await begin();
    const worker = workers.next();
    const first = await gateway.stream('/v1/threads/t/turns', say);
    const { claim, reply } = await worker;
    const route = `/v1/threads/t/turns/${claim.turnId}/stream`;
    const others = await Promise.all(Array.from({ length: 4 }, () => gateway.join(route)));
    const text = '漢字👩‍👩‍👧 '.repeat(60_000);
    await reply(text);
    for (const stream of [first, ...others]) {
      const events = await stream.rest();
      expect(shownText(events) === text).toBe(true);
      expect(events.at(-1)?.event).toBe('done');
    }
  });
});
