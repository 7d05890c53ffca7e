/** `everthread threads` as an operator types it, against a gateway whose worker the test plays. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { playedWorkers, startGateway, type Gateway } from '../api/gateway-under-test.js';
import { runCli, type RunOptions } from './run-cli.js';

describe('everthread threads', () => {
  const workers = playedWorkers();
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await startGateway({ work: workers.work });
  });
  afterAll(() => gateway.close());

  const threads = (args: string, options: RunOptions = {}) =>
    runCli(['threads', ...args.split(' '), '--url', gateway.url], options);
  const begin = async (thread: string, message = 'hello') => {
    const body = { message };
    const { json } = await gateway.post(`/v1/threads/${thread}/turns`, body, {
      prefer: 'respond-async',
    });
    return { turnId: json.turn_id, worker: await workers.next() };
  };

  test('A8 ls and show say where a thread is and which turn runs, without colours in a pipe', async () => {
    await (await begin('done')).worker.reply('hi');
    const { turnId, worker } = await begin('runs');
    const listed = await threads('ls');
    expect(listed).toMatchObject({ code: 0, stderr: '' });
    const [head, ...rows] = listed.stdout.trimEnd().split('\n');
    expect(head).toMatch(/^THREAD +STATUS +GRAPH +VERSION +UPDATED +BUILD +TURN$/);
    expect(rows).toHaveLength(2);
    expect(rows[0]).toMatch(/^runs +busy +agent +0 +\d+s +- +running \d+s$/);
    expect(rows[1]).toMatch(/^done +idle +agent +1 +\d+s +- +-$/);

    const busy = await threads('ls --status busy --graph agent --json');
    expect(busy.stdout.trimEnd().split('\n').map(parsed)).toMatchObject([
      { thread_id: 'runs', turn: { turn_id: turnId, status: 'running', attempts: 1 } },
    ]);
    expect((await threads('ls --limit 1')).stderr).toContain('There are more');

    const shown = await threads('show runs');
    expect(shown.stdout).toContain(`${turnId} (seq 1), running`);
    const record = parsed((await threads('show done --json')).stdout);
    expect(record).toMatchObject({ version: 1, history: [{ version: 1, status: 'committed' }] });
    await worker.reply('hi');
  });

  test('A8 pages, filters and cursors that are not valid are refused', async () => {
    for (const query of ['status=asleep', 'limit=0', 'limit=201', 'after=x', 'sort=name']) {
      const answer = await gateway.get(`/v1/threads?${query}`);
      expect(answer).toMatchObject({ status: 400, json: { code: 'invalid_request' } });
    }
    expect(await threads('ls --status asleep')).toMatchObject({ code: 2 });
    expect(await threads('ls --limit none')).toMatchObject({ code: 2 });
  });

  test('S3 tail shows the running turn to its end, and starts nothing', async () => {
    const { turnId, worker } = await begin('tailed');
    const wakes = gateway.wakes.length;
    let replied = false;
    const tailed = await threads('tail tailed', {
      onStdout: (text) => {
        if (!replied && text.includes(turnId)) void worker.reply('one');
        replied ||= text.includes(turnId);
      },
    });
    expect(tailed).toMatchObject({ code: 0, stderr: '' });
    expect(tailed.stdout).toBe(`turn ${turnId} (running)\none\n`);
    expect(gateway.wakes).toHaveLength(wakes);
    expect(await threads('tail tailed')).toMatchObject({
      ...{ code: 0, stderr: 'Nothing runs on thread tailed.\n' },
    });
  });

  test('F6 reset-to goes back to a version in the order of the turns, and says what there is not', async () => {
    await (await begin('back')).worker.reply('one');
    await (await begin('back')).worker.reply('two');
    const asked = threads('reset-to back --version 1');
    await (await workers.next()).reply('');
    expect(await asked).toEqual({
      ...{ code: 0, stderr: '' },
      stdout: 'Thread back is at version 3, with the state of version 1.\n',
    });
    for (const [args, code, words] of [
      ['reset-to back --version 9', 1, 'Thread back has no version 9.'],
      ['reset-to nobody --version 1', 1, 'There is no thread nobody.'],
      ['reset-to back --version x', 2, '--version takes a number'],
      ['reset-to back', 2, '--version'],
    ] as const) {
      const refused = await threads(args);
      expect([args, refused.code]).toEqual([args, code]);
      expect(refused.stderr).toContain(words);
    }
  });

  test('A9 retry wakes a thread that has something to run, as often as it likes, and no other', async () => {
    const { turnId } = await begin('stuck');
    const before = gateway.wakes.length;
    expect(await threads('retry stuck')).toMatchObject({ code: 0, stderr: '' });
    expect(gateway.wakes.slice(before)).toMatchObject([
      { thread: { threadId: 'stuck' }, turnId, start: true },
    ]);
    await (await workers.next()).reply('done');
    const idle = await threads('retry stuck --json');
    expect(parsed(idle.stdout)).toEqual({ thread_id: 'stuck', woken: false });
    expect(await threads('retry nobody')).toMatchObject({
      ...{ code: 1, stderr: 'There is no thread nobody.\n' },
    });
  });

  test('P6 cancel ends the running turn, once', async () => {
    const { turnId } = await begin('long');
    expect(await threads('cancel long')).toMatchObject({
      ...{ code: 0, stdout: `Turn ${turnId} is cancelled.\n` },
    });
    expect(await threads(`cancel long ${turnId}`)).toMatchObject({ code: 0 });
    expect(await threads('cancel long')).toMatchObject({
      ...{ code: 1, stderr: 'Nothing runs on thread long.\n' },
    });
  });

  test('P8 delete asks for --yes, then the thread is gone', async () => {
    await (await begin('gone')).worker.reply('hi');
    expect(await threads('delete gone')).toMatchObject({ code: 1, stdout: '' });
    expect((await gateway.get('/v1/threads/gone')).status).toBe(200);
    expect(await threads('delete gone --yes')).toMatchObject({
      ...{ code: 0, stdout: 'Deleted gone.\n' },
    });
    expect(await threads('show gone')).toMatchObject({ code: 1 });
    expect((await threads('ls --limit 100')).stdout).not.toContain('gone');
  });

  test('a gateway that is not there is said with what to do', async () => {
    const { code, stderr } = await runCli(['threads', 'ls', '--url', 'http://127.0.0.1:1']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/No gateway answers at .*everthread gateway/);
  });
});

const parsed = (text: string): unknown => JSON.parse(text) as unknown;
