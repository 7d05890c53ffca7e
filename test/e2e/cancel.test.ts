/** Turns that a person ends or answers, end to end: cancel, `multitask`, interrupts. A gateway and two workers on PostgreSQL. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import path from 'node:path';
import { startMortal } from '../support/mortal.js';
import type { Mortal } from '../support/mortal.js';
import type { Answer } from '../support/product.js';
import { until } from '../support/until.js';

let s: Mortal;
beforeAll(async () => {
  s = await startMortal('postgres', {
    EVERTHREAD_CONFIG: path.resolve('test/fixtures/projects/crashing/langgraph.json'),
    EVERTHREAD_THREAD_IDLE: '1s',
  });
});
afterAll(() => s.stop());

const post = (
  thread: string,
  message: string,
  more: object = {},
  headers: Record<string, string> = {},
): Promise<Answer> => s.post(`/v1/threads/${thread}/turns`, { message, ...more }, headers);
const later = { prefer: 'respond-async' };
const callsOf = (text: string) => s.model.calls.filter((c) => c.last.includes(text));

/** Posts a turn that is with the model, which never answers; the client waits for it. */
async function hanging(thread: string, more: object = {}) {
  const waiter = post(thread, `hang=1 ${thread}`, more);
  await s.model.until(() => callsOf(`hang=1 ${thread}`).length === 1);
  const turn = await until('the turn to be listed', () => s.newestTurn(thread));
  return { waiter, place: `/v1/threads/${thread}/turns/${turn}` };
}

/** Both ends of a cancel: how long until the provider saw its client leave. */
async function abortedWithin(text: string, act: () => Promise<unknown>): Promise<number> {
  const since = Date.now();
  await act();
  await s.model.until(() => callsOf(text).every((c) => c.aborted));
  return Date.now() - since;
}
/** A second is promised to a person; a machine that runs the whole suite is given some more. */
const soonMs = 3_000;

interface Said {
  readonly id: string;
}

describe('P6 cancel', () => {
  test('P6 a running turn: the model call is aborted soon, the stream ends with it, and the next turn runs', async () => {
    const message = 'gap=150 say=a%20b%20c%20d%20e%20f%20g%20h%20i%20j%20k%20l%20m%20n%20o running';
    let started = (_: string): void => undefined;
    const shown = new Promise<string>((told) => (started = told));
    const stream = s.stream('/v1/threads/running/turns', { body: { message }, onToken: started });
    const turn = /"turn_id":"([^"]+)"/.exec(await shown)?.[1];
    const ms = await abortedWithin('running', () =>
      s.post(`/v1/threads/running/turns/${turn}/cancel`, {}),
    );
    expect(ms).toBeLessThan(soonMs);
    const { text } = await stream;
    const names = [...text.matchAll(/^event: (\w+)$/gm)].map(([, name]) => name);
    expect(names.at(-1)).toBe('error');
    expect(text).toContain('turn_cancelled');
    expect(text).not.toContain('"o"');
    expect((await post('running', 'on')).json).toMatchObject({
      version: 1,
      response: 'seen 1: on',
    });
  });

  test('P6 a waiting turn: it is passed over; a settled one is refused', async () => {
    const first = post('waiting', 'delay=500 first');
    await s.model.until(() => callsOf('delay=500 first').length === 1);
    const second = await post('waiting', 'second waiting', {}, later);
    const third = post('waiting', 'third');
    const place = second.headers.get('location') ?? '';
    expect((await s.post(`${place}/cancel`, {})).json.status).toBe('cancelled');
    expect((await third).json).toMatchObject({ seq: 3, version: 2, response: 'seen 2: third' });
    expect(callsOf('second waiting')).toEqual([]);
    const settled = `/v1/threads/waiting/turns/${String((await first).json.turn_id)}/cancel`;
    expect((await s.post(settled, {})).json).toMatchObject({ status: 409, code: 'turn_settled' });
  });
});

describe('P6 P7 a turn that ends in the middle of a tool call leaves a history that a provider takes', () => {
  /** The tool's own question to the model; in the turn's message it stands encoded. */
  const toolAsks = (thread: string): string => `hang=1 found-${thread}`;
  const ask = (thread: string): string =>
    `tool=look:${encodeURIComponent(JSON.stringify({ ask: toolAsks(thread) }))} ${thread}`;
  const inTheTool = async (thread: string) => {
    const waiter = post(thread, ask(thread), { graph: 'tooled' });
    await s.model.until(() => callsOf(toolAsks(thread)).length === 1);
    return { waiter };
  };

  test('P6 cancelled: nothing of it is left', async () => {
    const { waiter } = await inTheTool('tool-cancel');
    const turn = String(await s.newestTurn('tool-cancel'));
    const ms = await abortedWithin(toolAsks('tool-cancel'), () =>
      s.post(`/v1/threads/tool-cancel/turns/${turn}/cancel`, {}),
    );
    expect(ms).toBeLessThan(soonMs);
    expect((await waiter).json).toMatchObject({ code: 'turn_cancelled' });
    expect((await post('tool-cancel', 'on')).json.response).toBe('seen 1: on');
    expect(s.model.refusals).toEqual([]);
  });

  test('P6 interrupted by the next turn: its finished step stays, its open call is answered first', async () => {
    const { waiter } = await inTheTool('tool-interrupt');
    let next: Promise<Answer> | undefined;
    const ms = await abortedWithin(toolAsks('tool-interrupt'), async () => {
      next = post('tool-interrupt', 'rather this', { multitask: 'interrupt' });
      expect((await waiter).json).toMatchObject({ code: 'turn_cancelled' });
    });
    expect(ms).toBeLessThan(soonMs);
    expect((await next)?.json).toMatchObject({ version: 2, response: 'seen 2: rather this' });
    const { messages } = callsOf('rather this')[0] ?? { messages: [] };
    expect(messages.map((m) => m.role)).toEqual(['user', 'assistant', 'tool', 'user']);
    expect(s.model.refusals).toEqual([]);
    const seen = (await s.get('/v1/threads/tool-interrupt/messages')).json as { messages: Said[] };
    const state = (await s.get('/v1/threads/tool-interrupt/state')).json as {
      values: { messages: Said[] };
    };
    expect(seen.messages.map(({ id }) => id)).toEqual(state.values.messages.map(({ id }) => id));
    expect(seen.messages).toHaveLength(5);
  });

  test('P6 rolled back by the next turn: nothing of it is left', async () => {
    const { waiter } = await inTheTool('tool-rollback');
    const next = post('tool-rollback', 'instead', { multitask: 'rollback' });
    expect((await waiter).json).toMatchObject({ code: 'turn_cancelled' });
    expect((await next).json).toMatchObject({ version: 1, response: 'seen 1: instead' });
    expect(s.model.refusals).toEqual([]);
  });
});

describe('P9 multitask', () => {
  test('P9 `reject` and the cap refuse without a trace; `enqueue` runs all that was accepted, in order', async () => {
    const { waiter, place } = await hanging('queue');
    expect((await post('queue', 'no', { multitask: 'reject' })).json).toMatchObject({
      ...{ status: 409, code: 'turn_in_progress' },
    });
    const queued = await Promise.all(
      Array.from({ length: 99 }, (_, n) =>
        // All wait for one lock: a machine that is overrun refuses some with 503, which a client may try again.
        until(`q${n} to be taken`, async () => {
          const asked = await post('queue', `q${n}`, {}, { ...later, 'idempotency-key': `q${n}` });
          return asked.status === 503 ? undefined : asked;
        }),
      ),
    );
    expect(new Set(queued.map((a) => a.status))).toEqual(new Set([202]));
    const full = await post('queue', 'one too many', {}, later);
    expect([full.status, full.json.code]).toEqual([429, 'rate_limited']);
    expect(Number(full.headers.get('retry-after'))).toBeGreaterThan(0);
    await s.post(`${place}/cancel`, {});
    expect((await waiter).json).toMatchObject({ code: 'turn_cancelled' });
    const last = await post('queue', 'last');
    expect(last.json).toMatchObject({ seq: 101, version: 100, response: 'seen 100: last' });
    expect(callsOf('one too many')).toEqual([]);
  });

  test('P6 `interrupt` and `rollback` of a turn that has finished no step are plain cancels', async () => {
    for (const multitask of ['interrupt', 'rollback']) {
      const thread = `no-step-${multitask}`;
      const { waiter } = await hanging(thread);
      const ms = await abortedWithin(`hang=1 ${thread}`, async () => {
        const next = await post(thread, 'next', { multitask });
        expect(next.json).toMatchObject({ seq: 2, version: 1, response: 'seen 1: next' });
      });
      expect(ms).toBeLessThan(2 * soonMs);
      expect((await waiter).json).toMatchObject({ code: 'turn_cancelled' });
    }
  });
});

describe('T2 a turn that is silent for long and alive', () => {
  test('T2 is signalled by the sweeper and not run twice', async () => {
    const { waiter, place } = await hanging('silent');
    await s.age('silent');
    await until('a sweeper to take it', async () => ((await s.swept('silent')) ? true : undefined));
    expect((await s.get(place)).json.status).toBe('running');
    await s.post(`${place}/cancel`, {});
    expect((await waiter).json).toMatchObject({ code: 'turn_cancelled' });
    expect(callsOf('hang=1 silent')).toHaveLength(1);
    expect(await s.fence('silent')).toBe(2); // one claim, one cancel
  });
});

describe('P7 a question waits for its answer', () => {
  const asks = { graph: 'questions' };
  const resume = (thread: string, value: unknown): Promise<Answer> =>
    s.post(`/v1/threads/${thread}/turns`, { resume: value });

  test('P7 through hibernation and the death of every worker and the gateway; what fits nothing is a 409', async () => {
    const asked = await post('ask', 'start', asks);
    expect(asked.json).toMatchObject({ status: 'interrupted', version: 1 });
    expect(asked.json.interrupts).toMatchObject([{ value: 'which colour?' }]);
    for (const proc of [...s.procs('worker'), ...s.procs('gateway')]) await proc.end('SIGKILL');
    for (let n = 0; n < 3; n += 1) await s.replaceDead();
    const second = await resume('ask', 'red');
    expect(second.json).toMatchObject({ status: 'interrupted', version: 2 });
    expect(second.json.interrupts).toMatchObject([{ value: 'which size?' }]);
    await until('the run to hibernate', async () => ((await s.sleeps('ask')) ? true : undefined));
    expect((await s.get('/v1/threads/ask')).json).toMatchObject({ status: 'interrupted' });
    const done = await resume('ask', 'large');
    expect(done.json).toMatchObject({ status: 'committed', version: 3, response: 'red and large' });
    const stale = await resume('ask', 'again');
    expect(stale.json).toMatchObject({ status: 409, code: 'resume_stale' });
  });

  test('P7 a plain turn abandons the question; an answer while a turn runs, or to no question, is a 409', async () => {
    await post('abandon', 'start', asks);
    const plain = await post('abandon', 'never mind');
    expect(plain.json).toMatchObject({ status: 'interrupted', version: 2 });
    expect((await resume('abandon', 'blue')).json.interrupts).toMatchObject([
      { value: 'which size?' },
    ]);
    const { waiter, place } = await hanging('busy');
    expect((await resume('busy', 'x')).json).toMatchObject({ status: 409, code: 'resume_stale' });
    await s.post(`${place}/cancel`, {});
    await waiter;
    expect((await resume('busy', 'x')).json).toMatchObject({ status: 409, code: 'resume_stale' });
  });
});
