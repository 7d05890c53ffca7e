import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import path from 'node:path';
import { runCli } from '../cli/run-cli.js';
import { startProduct } from '../support/product.js';
import type { Product } from '../support/product.js';

/** What a person sees who looks after a running `everthread dev`. */
describe('an operator beside a running product', () => {
  let product: Product;
  beforeAll(async () => {
    product = await startProduct();
  });
  afterAll(() => product.stop());

  const operate = (...args: readonly string[]) =>
    runCli(args, { cwd: product.data, env: { EVERTHREAD_DATA: product.data } });

  test('O1 fsck finds nothing while turns are accepted, run, cancelled and deleted', async () => {
    const stop = new AbortController();
    let turns = 0;
    const writer = async (n: number): Promise<void> => {
      for (let i = 0; !stop.signal.aborted; i++) {
        await product.chat(`t${n}-${i % 3}`, `message ${i}`);
        turns += 1;
        if (i % 7 === 6) {
          await fetch(`${product.url}/v1/threads/t${n}-${i % 3}`, { method: 'DELETE' });
        }
      }
    };
    const writing = Promise.all([0, 1, 2, 3].map(writer));
    const before = turns;
    for (let look = 0; look < 4; look++) {
      const { code, stdout, stderr } = await operate('fsck', '--json');
      expect({ code, stderr, findings: findingsOf(stdout) }).toEqual({
        ...{ code: 0, stderr: '', findings: [] },
      });
    }
    stop.abort();
    await writing;
    expect(turns).toBeGreaterThan(before + 10);
  });

  test('O2 --repair leaves a file alone that a running instance holds, and says so', async () => {
    const { code, stderr } = await operate('fsck', '--repair');
    expect(code).toBe(2);
    expect(stderr).toContain('is in use by another everthread process');
  });

  test('O3 O4 a backup of the running product brings its threads back after a restore', async () => {
    const said = await product.chat('precious', 'remember this');
    const copy = path.join(product.data, 'copy.db');
    expect(await operate('backup', copy)).toMatchObject({ code: 0 });
    await product.chat('precious', 'this will be lost');
    const refused = await operate('restore', copy);
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.stderr).toContain('is in use by another everthread process');

    await product.proc().end();
    const restored = await operate('restore', copy);
    expect(restored).toMatchObject({ code: 0 });
    expect(restored.stdout).toContain('is kept at');
    await product.start();
    const thread = await product.get('/v1/threads/precious');
    expect(thread.json).toMatchObject({ version: 1 });
    const ahead = await product.post('/v1/threads/precious/turns', {
      message: 'on',
      if_version: 2,
    });
    expect(ahead).toMatchObject({ status: 409, json: { code: 'base_changed', version: 1 } });
    expect(ahead.json.detail).toContain('was restored to an earlier time');
    const next = await product.chat('precious', 'go on');
    expect(next).toMatchObject({ status: 200, json: { version: 2 } });
    expect(said.json.turn_id).not.toBe(next.json.turn_id);
    expect(await operate('fsck')).toMatchObject({ code: 0 });
  });
});

const findingsOf = (stdout: string): unknown =>
  (JSON.parse(stdout) as { readonly findings: unknown }).findings;
