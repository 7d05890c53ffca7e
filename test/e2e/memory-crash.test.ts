/** Long-term memory when its worker dies around the write: written once, and the reply says so. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startMortal, type Mortal } from '../support/mortal.js';

let system: Mortal;
beforeAll(async () => {
  system = await startMortal('sqlite', { EVERTHREAD_MODEL: 'openai:scripted' });
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
