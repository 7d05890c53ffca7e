/**
 * Processes that die in the middle of something else than a plain turn: a cancel, a delete, a sweep, a migration, a workflow
 * task, a stream of somebody. On PostgreSQL with a gateway and two workers.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import path from 'node:path';
import { openStorage } from '../../storage/open.js';
import { crashPreload } from '../support/crash-preload.js';
import { emptyTarget } from '../support/database.js';
import { startMortal } from '../support/mortal.js';
import type { Mortal } from '../support/mortal.js';
import { everthread } from '../support/processes.js';
import type { Answer } from '../support/product.js';
import { until } from '../support/until.js';

let s: Mortal;
beforeAll(async () => {
  s = await startMortal('postgres', {
    EVERTHREAD_CONFIG: path.resolve('test/fixtures/projects/crashing/langgraph.json'),
  });
});
afterAll(() => s.stop());

const turns = (thread: string): string => `/v1/threads/${thread}/turns`;

/** A turn that is with the model, which never answers. @returns where it is */
async function hanging(thread: string, headers: Record<string, string> = {}): Promise<string> {
  const message = `hang=1 ${thread}`;
  const accepted = await s.post(turns(thread), { message }, { ...headers, ...later });
  await s.model.until(() => s.model.count(message) === 1);
  return accepted.headers.get('location') ?? '';
}
const later = { prefer: 'respond-async' };

const aborted = (thread: string): Promise<void> =>
  s.model.until(() => s.model.calls.filter((c) => c.last.includes(thread)).every((c) => c.aborted));

const untilVersion = (thread: string, version: number): Promise<Answer> =>
  until(`version ${version} of ${thread}`, async () => {
    const answer = await s.get(`/v1/threads/${thread}`);
    return answer.json.version === version ? answer : undefined;
  });

/** The client's request is cut off with the process. */
const cutOff = (asked: Promise<Answer>): Promise<unknown> => asked.catch(() => 'cut off');

describe('the gateway dies as it cancels', () => {
  test('P6 before the COMMIT: the turn goes on, and the same cancel settles it', async () => {
    const place = await hanging('in-cancel');
    await s.arm('in-cancel', 'in-cancel');
    const asked = cutOff(s.post(`${place}/cancel`, {}));
    expect(await s.dead('in-cancel', 'in-cancel')).toBe('gateway');
    expect(await asked).toBe('cut off');
    expect((await s.get(place)).json.status).toBe('running');
    expect((await s.post(`${place}/cancel`, {})).json.status).toBe('cancelled');
    await aborted('in-cancel');
    expect((await s.post(turns('in-cancel'), { message: 'on' })).json.response).toBe('seen 1: on');
  });

  test('P6 after the COMMIT, before anybody is told: the worker looks, and stops the model', async () => {
    const place = await hanging('after-cancel', { 'idempotency-key': 'c' });
    await s.arm('after-cancel', 'after-cancel');
    void cutOff(s.post(`${place}/cancel`, {}));
    expect(await s.dead('after-cancel', 'after-cancel')).toBe('gateway');
    await aborted('after-cancel');
    expect((await s.get(place)).json.status).toBe('cancelled');
    expect((await s.post(`${place}/cancel`, {})).json.status).toBe('cancelled');
    const replay = await s.post(
      turns('after-cancel'),
      { message: 'hang=1 after-cancel' },
      { 'idempotency-key': 'c' },
    );
    expect(replay.json).toMatchObject({ status: 409, code: 'turn_cancelled' });
    expect(s.model.count('after-cancel')).toBe(1);
  });
});

describe('the gateway dies as it deletes', () => {
  test('P8 W20 before the COMMIT: nothing is erased, and the same delete erases all', async () => {
    await s.post(turns('in-delete'), { message: 'keep this' });
    const place = await hanging('in-delete');
    await s.arm('in-delete', 'in-delete');
    void cutOff(s.delete('/v1/threads/in-delete'));
    expect(await s.dead('in-delete', 'in-delete')).toBe('gateway');
    expect((await s.get('/v1/threads/in-delete')).json).toMatchObject({ version: 1 });
    expect((await s.get('/v1/threads/in-delete/messages')).text).toContain('keep this');
    expect((await s.get(place)).json.status).toBe('running');
    expect((await s.delete('/v1/threads/in-delete')).status).toBe(204);
    await aborted('hang=1 in-delete');
    expect((await s.get('/v1/threads/in-delete')).status).toBe(404);
  });

  test('P8 W21 after the COMMIT, before the run is told: it is deleted, again is fine, and the next epoch is new', async () => {
    const key = { 'idempotency-key': 'd' };
    await s.post(turns('after-delete'), { message: 'forget this' }, key);
    const place = await hanging('after-delete');
    await s.arm('after-delete', 'after-delete');
    void cutOff(s.delete('/v1/threads/after-delete'));
    expect(await s.dead('after-delete', 'after-delete')).toBe('gateway');
    expect((await s.get('/v1/threads/after-delete')).status).toBe(404);
    expect((await s.delete('/v1/threads/after-delete')).status).toBe(204);
    await aborted('hang=1 after-delete');
    expect((await s.get(place)).json).toMatchObject({ code: 'thread_deleted' });
    const next = await s.post(turns('after-delete'), { message: 'forget this' }, key);
    expect(next.json).toMatchObject({ epoch: 2, version: 1, response: 'seen 1: forget this' });
    expect(next.headers.get('idempotent-replayed')).toBeNull();
  });
});

describe('what carries a turn dies', () => {
  test('W4 S3 the gateway of a reader is killed: another stream shows the whole turn, which one worker ran once', async () => {
    const message = `gap=100 say=${encodeURIComponent('one two three four five six seven')} w4`;
    const shown = await new Promise<string>((onToken) => {
      void cutOff(s.stream(turns('w4'), { body: { message }, onToken }));
    });
    const [gateway] = s.procs('gateway');
    await gateway?.end('SIGKILL');
    await s.replaceDead();
    const place = `${turns('w4')}/${/"turn_id":"([^"]+)"/.exec(shown)?.[1]}`;
    const again = await s.get(`${place}/stream`);
    expect(again.text).toContain('event: done');
    expect((await s.get(place)).json.response).toBe('one two three four five six seven');
    expect(s.model.count('w4')).toBe(1);
  });

  test('W7 P2 a worker dies in the middle of a workflow task: another one replays it, and the turn runs once', async () => {
    await s.post(turns('w7'), { message: 'first' });
    await s.arm('in-workflow-task', '');
    const asked = s.post(turns('w7'), { message: 'second w7' });
    expect(await s.dead('in-workflow-task', '')).toBe('worker');
    expect((await asked).json).toMatchObject({ version: 2, response: 'seen 2: second w7' });
    expect(s.model.count('second w7')).toBe(1);
  });

  test('T2 a sweeper dies with the threads that it took: another one signals them after the pause', async () => {
    await s.arm('after-accept', 'swept');
    void cutOff(s.post(turns('swept'), { message: 'swept' }, { 'idempotency-key': 's' }));
    expect(await s.dead('after-accept', 'swept')).toBe('gateway');
    await s.arm('after-sweep', '');
    await s.age('swept');
    expect(await s.dead('after-sweep', '')).toBe('worker');
    expect((await s.get('/v1/threads/swept')).json.version).toBe(0);
    await s.age('swept');
    await untilVersion('swept', 1);
    expect(s.model.count('swept')).toBe(1);
  });
});

describe.each(['sqlite', 'postgres'] as const)('a migration dies, %s', (kind) => {
  test.each(['in-migration:1', 'in-migration:9'])(
    'W34 at %s: nothing of it stands, a worker that meets it is refused, and the next one migrates',
    async (crash) => {
      const { target, remove } = await emptyTarget(kind);
      if (target.kind === 'memory') throw new Error('memory has no migration');
      const place: Record<string, string> =
        target.kind === 'sqlite'
          ? { EVERTHREAD_STORAGE: 'sqlite', EVERTHREAD_SQLITE_PATH: target.path }
          : { EVERTHREAD_STORAGE: 'postgres', EVERTHREAD_POSTGRES_URL: target.url };
      const run = async (command: string, env: Record<string, string> = {}) => {
        const proc = everthread([command], { ...place, ...env });
        await once(proc.child, 'exit');
        return proc;
      };
      const dying = { ...crashPreload, EVERTHREAD_TEST_CRASH: crash };
      expect((await run('migrate', dying)).child.signalCode).toBe('SIGKILL');
      if (kind === 'postgres') {
        const refused = await run('worker', { TEMPORAL_ADDRESS: '127.0.0.1:1' });
        expect(refused.child.exitCode).toBe(1);
        expect(refused.log()).toContain('everthread migrate');
      }
      expect((await run('migrate')).child.exitCode).toBe(0);
      const storage = await openStorage(target, { autoMigrate: false });
      await storage.close();
      await remove();
    },
  );
});
