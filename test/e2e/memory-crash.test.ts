/** Long-term memory when its worker dies around the write, and what a guard's stop looks like to a client. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startMortal, type Mortal } from '../support/mortal.js';

let system: Mortal;
beforeAll(async () => {
  system = await startMortal('sqlite', { EVERTHREAD_MAX_STEPS: '1' });
}, 120_000);
afterAll(() => system.stop());

test.each(['before-remember', 'after-remember'] as const)(
  'M20 a worker killed at %s writes memory once, calls the model once, and the reply tells of it',
  async (point) => {
    const [thread, user] = [point, `user-of-${point}`];
    await system.arm(point, thread);
    const body = { message: 'Please remember that I prefer short answers', user_id: user };
    const headers = { 'x-thread-id': thread, 'idempotency-key': 'once' };
    const lost = system.post('/v1/chat', body, headers).catch(() => undefined);
    expect(await system.dead(point, thread)).toBe('dev');
    await lost;
    const answer = await system.post('/v1/chat', body, headers);
    expect(answer.json).toMatchObject({ status: 'committed', memory_updated: true });
    expect(system.model.calls.filter(({ last }) => last === body.message)).toHaveLength(
      point === 'before-remember' ? 1 : 2,
    );
    const memory = await system.get(`/v1/users/${user}/memory?history=true`);
    expect(memory.json.facts).toEqual([
      expect.objectContaining({ text: 'I prefer short answers', status: 'preference' }),
    ]);
  },
  120_000,
);

test('M22 a guard settles the turn failed with its code and a sentence; so does a wrong shape of the input', async () => {
  const looping = await system.post('/v1/chat', { message: 'tool=clock' });
  expect([looping.status, looping.json]).toEqual([
    502,
    expect.objectContaining({
      ...{ code: 'turn_failed', failure: 'max_steps' },
      detail: 'I stopped after 1 steps without an end. A smaller question may help.',
    }),
  ]);
  const input = { messages: [{ role: 'user', content: 'hi' }], max_steps: 'many' };
  const wrong = await system.post('/v1/threads/shapes/turns', { input });
  expect(wrong.json).toMatchObject({ code: 'turn_failed', failure: 'state_shape' });
  expect(wrong.text).not.toContain('many');
  const next = await system.post('/v1/threads/shapes/turns', { message: 'hello' });
  expect(next.json).toMatchObject({ status: 'committed', version: 1 });
});
