import { describe, expect, test } from '@jest/globals';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { devBanner } from '../../cli/banner.js';
import { describeFailure } from '../../cli/failure.js';
import * as help from '../../cli/help.js';
import { variables } from '../../config/env.js';
import { runCli } from './run-cli.js';

describe('help', () => {
  test.each([
    [['--help'], ['dev', 'gateway', 'worker', 'migrate', 'chat']],
    [
      ['dev', '--help'],
      ['EVERTHREAD_STORAGE', 'TEMPORAL_ADDRESS', 'Ctrl-C', '--allow-remote'],
    ],
    [
      ['gateway', '--help'],
      ['EVERTHREAD_POSTGRES_URL', 'TEMPORAL_ADDRESS', 'SIGTERM'],
    ],
    [
      ['worker', '--help'],
      ['EVERTHREAD_POSTGRES_URL', 'EVERTHREAD_CONFIG', 'SIGTERM'],
    ],
    [
      ['migrate', '--help'],
      ['EVERTHREAD_POSTGRES_URL', 'safe to run again'],
    ],
    [
      ['setup', '--help'],
      ['TEMPORAL_NAMESPACE', '--retention', 'Safe to run again'],
    ],
    [
      ['chat', '--help'],
      ['--thread', '--json', 'Ctrl-D', 'Examples'],
    ],
    [['temporal', 'path', '--help'], ['EVERTHREAD_TEMPORAL_CLI']],
  ])('everthread %j explains itself', async (args, words) => {
    const { code, stdout } = await runCli(args);
    expect(code).toBe(0);
    for (const word of words) expect(stdout).toContain(word);
  });

  test('each command tells the version, except where a version is what is asked for', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    for (const args of [['--version'], ['dev', '--version'], ['worker', '-V']])
      expect(await runCli(args)).toMatchObject({ code: 0, stdout: `${version}\n` });
    expect((await runCli(['threads', 'reset-to', 'a'])).stderr).toContain('--version <n>');
  });

  test('every setting that help names exists', () => {
    const known = new Set<string>(variables);
    const named =
      Object.values(help)
        .join('\n')
        .match(/\bEVERTHREAD_[A-Z_]+/g) ?? [];
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });
});

describe('wrong calls', () => {
  test.each([
    [['chatt'], 'unknown command'],
    [['dev', '--port', '1'], 'unknown option'],
    [['migrate', 'now'], 'too many arguments'],
    [['temporal', 'paths'], 'unknown command'],
  ])('everthread %j ends with 2 and says why', async (args, why) => {
    const { code, stderr } = await runCli(args);
    expect(code).toBe(2);
    expect(stderr).toContain(why);
  });

  test('wrong settings end with 1 and are all listed, without a stack', async () => {
    const env = { PORT: 'x', EVERTHREAD_STORAGE: 'sqlite', LOG_LEVEL: 'loud' };
    const { code, stderr } = await runCli(['gateway'], { env });
    expect(code).toBe(1);
    for (const name of [...Object.keys(env), 'TEMPORAL_ADDRESS']) expect(stderr).toContain(name);
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});

describe('temporal path', () => {
  test('the path is all of standard output, whatever other settings are', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'everthread-cli-'));
    try {
      const cli = path.join(folder, 'temporal');
      writeFileSync(cli, '#!/bin/sh\necho "temporal version 99.0.0 (Server 1.0.0, UI 1.0.0)"\n');
      chmodSync(cli, 0o755);
      const { code, stdout } = await runCli(['temporal', 'path'], {
        env: { EVERTHREAD_TEMPORAL_CLI: cli, PORT: 'not a port' },
      });
      expect([code, stdout]).toEqual([0, `${cli}\n`]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('.env', () => {
  const inFolder = async (text: string, args: readonly string[], env: Record<string, string>) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'everthread-cli-'));
    try {
      writeFileSync(path.join(folder, '.env'), text);
      return await runCli(args, { cwd: folder, env });
    } finally {
      rmSync(folder, { recursive: true });
    }
  };

  test('dev reads it from the working directory', async () => {
    const { code, stderr } = await inFolder('LOG_LEVEL=loud\n', ['dev'], {});
    expect(code).toBe(1);
    expect(stderr).toContain('LOG_LEVEL is "loud"');
  });

  test('a variable that is set wins over it', async () => {
    const { stderr } = await inFolder('PORT=a\nLOG_LEVEL=b\n', ['dev'], { LOG_LEVEL: 'c' });
    expect(stderr).toContain('PORT is "a"');
    expect(stderr).toContain('LOG_LEVEL is "c"');
  });

  test('gateway and worker do not look at it', async () => {
    const { stderr } = await inFolder('LOG_LEVEL=loud\n', ['gateway'], {});
    expect(stderr).not.toContain('LOG_LEVEL');
  });
});

describe('migrate', () => {
  test('tells what it applied, and that a second run has nothing to do', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'everthread-cli-'));
    try {
      const env = { EVERTHREAD_DATA: folder };
      const once = await runCli(['migrate'], { env });
      expect(once.stderr).toBe('');
      expect(once.stdout).toMatch(/^applied 0001.*\n(applied .*\n)*sqlite .* is up to date\n$/);
      const again = await runCli(['migrate'], { env });
      expect(again.stdout).toBe(`sqlite ${path.join(folder, 'everthread.db')} was up to date\n`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('banner', () => {
  const ready = {
    gatewayUrl: 'http://127.0.0.1:9000',
    uiUrl: 'http://127.0.0.1:8233',
    storage: 'sqlite /x/everthread.db',
    model: 'openai:gpt-5-mini',
    graphs: ['assistant', 'other'],
  };

  test('one line each for gateway, Web UI, storage, model and graphs, and a way to try it', () => {
    const text = devBanner(ready, false).join('\n');
    expect(text).toMatch(/Gateway +http:\/\/127\.0\.0\.1:9000$/m);
    expect(text).toMatch(/Web UI +http:\/\/127\.0\.0\.1:8233$/m);
    expect(text).toMatch(/Storage +sqlite \/x\/everthread\.db$/m);
    expect(text).toMatch(/Model +openai:gpt-5-mini$/m);
    expect(text).toMatch(/Graphs +assistant, other$/m);
    expect(text).toContain('curl -X POST http://127.0.0.1:9000/v1/chat');
    expect(text).toContain('chat --url http://127.0.0.1:9000');
  });

  test('colours only when asked', () => {
    expect(devBanner(ready, false).join('')).not.toContain('\u001b');
    expect(devBanner(ready, true).join('')).toContain('\u001b[');
  });
});

test('a failure that somebody foresaw has no stack, a bug has one', () => {
  expect(describeFailure(new Error('Port 1 is taken.'))).toBe('everthread: Port 1 is taken.');
  expect(describeFailure(new TypeError('x is undefined'))).toMatch(/ at .*\n.*bug/s);
});
