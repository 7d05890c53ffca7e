import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { everthread } from '../support/processes.js';
import { startProduct } from '../support/product.js';
import type { Product } from '../support/product.js';
import { until } from '../support/until.js';

let product: Product;
beforeAll(async () => {
  product = await startProduct({
    EVERTHREAD_STEP_TIMEOUT: '4s',
    EVERTHREAD_MAX_MESSAGE_CHARS: '99',
  });
});
// A test that fails half-way must not take the others along.
beforeEach(async () => {
  if (!product.proc().alive()) await product.start();
});
afterAll(() => product.stop());

const temporalPid = (): number => {
  const record = JSON.parse(readFileSync(path.join(product.data, 'temporal.pid'), 'utf8')) as {
    server: { pid: number };
  };
  return record.server.pid;
};
/** Running; one that has ended and waits for its parent to notice counts as gone. */
const isRunning = (pid: number): boolean => {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
};

describe('the whole product dies and comes back', () => {
  test('T2 C1 kill -9 during a turn: after a start it completes by itself, once', async () => {
    const headers = { 'idempotency-key': 'crash' };
    const pending = product.chat('crash', 'delay=2500 survive me', headers).catch(() => undefined);
    await product.model.until(() => product.model.count('survive me') === 1);
    await product.proc().end('SIGKILL');
    await pending;
    const orphan = temporalPid();
    expect(isRunning(orphan)).toBe(true);
    await product.start();
    expect(temporalPid()).toBe(orphan); // recognised and used again
    await until('the turn to complete by itself', async () =>
      (await product.get('/v1/threads/crash')).json.version === 1 ? true : undefined,
    );
    const replay = await product.chat('crash', 'delay=2500 survive me', headers);
    expect(replay.status).toBe(200);
    expect(replay.headers.get('idempotent-replayed')).toBe('true');
    expect(replay.json).toMatchObject({ version: 1, response: 'seen 1: delay=2500 survive me' });
    expect(product.model.count('survive me')).toBeLessThanOrEqual(2);
    expect((await product.chat('crash', 'after')).json.response).toBe('seen 2: after');
  });

  test('a clean end takes the Temporal server along, and the next start finds all threads', async () => {
    await product.chat('kept', 'remember this');
    const server = temporalPid();
    await product.proc().end('SIGTERM');
    expect(product.proc().child.exitCode).toBe(0);
    expect(isRunning(server)).toBe(false);
    await product.start();
    expect((await product.chat('kept', 'and this')).json.response).toBe('seen 2: and this');
  });

  test('a second process on the same file is refused by name and harms nothing', async () => {
    const second = everthread(['dev'], { EVERTHREAD_DATA: product.data, PORT: '0' });
    await once(second.child, 'exit');
    expect(second.child.exitCode).not.toBe(0);
    expect(second.log()).toMatch(/in use|another/i);
    expect((await product.chat('lock', 'still here')).status).toBe(200);
  });

  test('a port in use is named with its setting', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const port = String((taken.address() as AddressInfo).port);
    const blocked = everthread(['dev'], {
      EVERTHREAD_STORAGE: 'memory',
      EVERTHREAD_DATA: path.join(product.data, 'other'),
      EVERTHREAD_TEMPORAL_PORT: '0',
      EVERTHREAD_TEMPORAL_UI_PORT: '0',
      PORT: port,
    });
    await once(blocked.child, 'exit');
    taken.close();
    expect(blocked.child.exitCode).toBe(1);
    expect(blocked.log()).toContain(port);
    expect(blocked.log()).toContain('PORT');
  });
});

describe('turns through the whole product', () => {
  test('T1 five turns posted at once are answered in order', async () => {
    const answers = await Promise.all(
      [1, 2, 3, 4, 5].map((n) => product.chat('five', `delay=30 five-${n}`)),
    );
    for (const { json } of answers)
      expect(json.response).toMatch(new RegExp(`^seen ${String(json.seq)}:`));
    expect(answers.map(({ json }) => json.seq).sort()).toEqual([1, 2, 3, 4, 5]);
  });

  test('A13 the gateway keeps the limits that it was started with', async () => {
    expect((await product.chat('long', 'x'.repeat(99))).status).toBe(200);
    const { status, json } = await product.chat('long', 'x'.repeat(100));
    expect([status, json.detail]).toEqual([400, 'A message has at most 99 characters.']);
  });

  test('A2 two posts with one key are one turn, one model call, the same bytes', async () => {
    const headers = { 'idempotency-key': 'twice' };
    const [one, other] = await Promise.all([
      product.chat('twice', 'delay=200 only once', headers),
      product.chat('twice', 'delay=200 only once', headers),
    ]);
    expect([one.status, other.status]).toEqual([200, 200]);
    expect(one.text).toBe(other.text);
    expect(product.model.count('only once')).toBe(1);
  });
});

describe('C5 a provider that fails leaves the thread in order', () => {
  test.each([
    ['a 500 twice', 'fail=500 times=2 p500', 200, 3],
    ['a 429 with Retry-After', 'fail=429 times=1 after=1 p429', 200, 2],
    ['garbage once', 'garbage=1 times=1 pgarbage', 200, 2],
    ['a dropped connection', 'drop=1 times=1 pdrop', 200, 2],
    ['a 401', 'fail=401 p401', 502, 1],
    ['a quota that is used up', 'fail=429 code=insufficient_quota pquota', 502, 1],
    ['a context that is too long', 'fail=400 code=context_length_exceeded pcontext', 502, 1],
    ['a provider that hangs', 'hang=1 phang', 502, 1],
  ])('%s', async (_name, message, status, calls) => {
    const thread = `provider-${message.split(' ').at(-1) ?? ''}`;
    const answer = await product.chat(thread, message);
    expect(answer.status).toBe(status);
    expect(product.model.count(message)).toBe(calls);
    if (status === 502) expect(answer.json).toMatchObject({ code: 'turn_failed' });
    const seen = status === 200 ? 2 : 1;
    expect((await product.chat(thread, 'and on')).json.response).toBe(`seen ${seen}: and on`);
  });

  test('S2 a stream that is cut in the middle starts over for its viewers', async () => {
    const message = 'cut=2 times=1 say=one%20two%20three pcut';
    const { text } = await product.chat('provider-pcut', message, { accept: 'text/event-stream' });
    const names = [...text.matchAll(/^event: (\w+)$/gm)].map(([, name]) => name);
    expect(names[0]).toBe('accepted');
    expect(names).toContain('reset');
    expect(names.at(-1)).toBe('done');
    const afterReset = text.slice(text.lastIndexOf('event: reset'));
    const tokens = [...afterReset.matchAll(/^event: token\ndata: (.*)$/gm)];
    const words = tokens.map(([, data = '{}']) => (JSON.parse(data) as { text: string }).text);
    expect(words.join('')).toBe('one two three');
    expect(product.model.count('pcut')).toBe(2);
  });
});
