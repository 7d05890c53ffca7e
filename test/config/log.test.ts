import { describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { createLog } from '../../config/log.js';
import type { LogOptions } from '../../config/log.js';

function logged(options: Partial<LogOptions>, write: (log: ReturnType<typeof createLog>) => void) {
  let text = '';
  const destination = { write: (line: string) => void (text += line) };
  write(createLog({ level: 'info', format: 'json', colors: false, destination, ...options }));
  return text;
}

describe('log', () => {
  test('JSON lines have a time, a level and the text', () => {
    const line = JSON.parse(logged({}, (log) => log.info({ turn: 't1' }, 'claimed'))) as object;
    expect(line).toMatchObject({ level: 30, turn: 't1', msg: 'claimed' });
    expect(line).toHaveProperty('time');
  });

  test('secrets and content are cut out', () => {
    const text = logged({}, (log) => {
      log.info({ apiKey: 'sk-1', request: { authorization: 'Bearer b', content: 'my illness' } });
    });
    expect(text).not.toMatch(/sk-1|Bearer b|illness/);
  });

  test('an error is written without its words, which may quote a prompt', () => {
    const cause = new TypeError('my illness');
    const error = Object.assign(new Error('400 prompt: my illness', { cause }), { status: 400 });
    for (const write of [
      (log: ReturnType<typeof createLog>) => log.error(error),
      (log: ReturnType<typeof createLog>) => log.error({ err: error }),
      (log: ReturnType<typeof createLog>) => log.error({ err: error }, 'model refused'),
    ]) {
      const text = logged({}, write);
      expect(text).not.toContain('illness');
      const line = JSON.parse(text) as { err: { at: string[] } };
      expect(line).toMatchObject({
        err: { type: 'Error', status: 400, cause: { type: 'TypeError' } },
      });
      expect(line.err.at[0]).toContain('log.test');
    }
  });

  test('debug shows the words of an error, without the password of an address', () => {
    const error = new Error('cannot reach postgresql://me:hunter2@db/x');
    const text = logged({ level: 'debug' }, (log) => log.error({ err: error }, 'down'));
    expect(text).toContain('postgresql://me:***@db/x');
  });

  test('what Node itself says of a failed call is kept', () => {
    const error = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), {
      code: 'ECONNREFUSED',
      syscall: 'connect',
    });
    expect(logged({}, (log) => log.warn({ err: error }, 'x'))).toContain(
      'ECONNREFUSED 127.0.0.1:1',
    );
  });

  test('pretty lines are for people, and coloured only when asked', () => {
    const write = (log: ReturnType<typeof createLog>) => log.info('ready');
    const plain = logged({ format: 'pretty' }, write);
    expect(plain).toMatch(/INFO: ready/);
    expect(plain).not.toContain('\u001b[');
    expect(logged({ format: 'pretty', colors: true }, write)).toContain('\u001b[');
  });

  test('the last line before an exit is not lost', async () => {
    const module = path.resolve('dist/config/log.js');
    const script = `import { createLog } from ${JSON.stringify(module)};
      for (const format of ['json', 'pretty']) createLog({ level: 'info', format, colors: false }).info('last words ' + format);
      process.exit(0);`;
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--input-type=module',
      '-e',
      script,
    ]);
    expect(stdout).toContain('last words json');
    expect(stdout).toContain('last words pretty');
  });
});
