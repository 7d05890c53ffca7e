/** What a person is told when a process cannot start: which address, file, disk or setting it is, before anything slow is tried. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import * as universal from 'langchain/chat_models/universal';
import * as shape from '../../config/shapes.js';
import { runCli } from '../cli/run-cli.js';
import type { Ran } from '../cli/run-cli.js';
import { createPostgresDatabase } from '../support/database.js';
import { startProduct } from '../support/product.js';
import { testCli } from '../support/temporal-server.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'everthread-start-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (command: string, env: Record<string, string>): Promise<Ran> =>
  runCli([command], {
    cwd: folder,
    env: {
      EVERTHREAD_DATA: path.join(folder, 'data'),
      EVERTHREAD_TEMPORAL_PORT: '0',
      EVERTHREAD_TEMPORAL_UI_PORT: '0',
      PORT: '0',
      HOME: process.env.HOME ?? '',
      ...env,
    },
  });
const cluster = {
  EVERTHREAD_STORAGE: 'postgres',
  EVERTHREAD_POSTGRES_URL: 'postgres://me:hunter2@127.0.0.1:1/threads',
  TEMPORAL_ADDRESS: '127.0.0.1:1',
};

describe('a database that cannot be used is named', () => {
  test('PostgreSQL that is not there: migrate tells its address and the setting, not the password', async () => {
    const { code, stderr } = await run('migrate', cluster);
    expect(code).toBe(1);
    expect(stderr).toContain('127.0.0.1:1/threads');
    expect(stderr).toContain('EVERTHREAD_POSTGRES_URL');
    expect(stderr).toMatch(/ECONNREFUSED/);
    expect(stderr).not.toContain('hunter2');
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  test('O7 a server that refuses us: no database of that name, no such user, no schema of ours', async () => {
    const { url, drop } = await createPostgresDatabase();
    const refused: [string, string][] = [
      [url.replace(/[^/]+$/, 'nowhere'), '"nowhere" does not exist'],
      [url.replace('postgres@', 'stranger:hunter2@'), '"stranger" does not exist'],
      [url, 'everthread migrate'],
    ];
    await Promise.all(
      refused.flatMap(([address, words]) =>
        ['gateway', 'worker'].map(async (command) => {
          const env = { ...cluster, EVERTHREAD_POSTGRES_URL: address };
          const { code, stdout, stderr } = await run(command, env);
          expect([command, code]).toEqual([command, 1]);
          expect(stderr).toContain(words);
          if (address !== url) expect(stderr).toContain(new URL(address).host);
          expect(stdout + stderr).not.toMatch(/waiting|hunter2/);
        }),
      ),
    );
    await drop();
  });

  test('a SQLite path that leads to something else', async () => {
    const file = path.join(folder, 'letter.db');
    writeFileSync(file, 'Dear reader, this is no database. '.repeat(100));
    for (const command of ['migrate', 'dev']) {
      const { code, stderr } = await run(command, { EVERTHREAD_SQLITE_PATH: file });
      expect(code).toBe(1);
      expect(stderr).toContain(`${file} is no SQLite database`);
      expect(stderr).toContain('EVERTHREAD_SQLITE_PATH');
    }
  });

  test('a SQLite path that is a folder', async () => {
    const file = path.join(folder, 'a-folder');
    mkdirSync(file);
    const { code, stderr } = await run('migrate', { EVERTHREAD_SQLITE_PATH: file });
    expect(code).toBe(1);
    expect(stderr).toContain(`${file} cannot be opened`);
  });
});

describe('a port that is taken', () => {
  test.each([
    ['dev', {}],
    ['gateway', cluster],
  ])('%s tells it before it looks for Temporal or a database', async (command, env) => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const { code, stderr } = await run(command, {
      ...env,
      PORT: String(port),
      EVERTHREAD_TEMPORAL_CLI: '/nowhere', // asked only when the port is free
    });
    taken.close();
    expect(code).toBe(1);
    expect(stderr).toContain(`Port ${port} on 127.0.0.1 is in use. Set PORT`);
    expect(stderr).not.toContain('/nowhere');
    expect(stderr).not.toContain('PostgreSQL');
  });
});

describe('all wrong settings at once', () => {
  test('model, Temporal address and data folder are in the list', async () => {
    const file = path.join(folder, 'file');
    writeFileSync(file, '');
    const { code, stderr } = await run('dev', {
      PORT: 'x',
      EVERTHREAD_DATA: path.join(file, 'below'),
      EVERTHREAD_MODEL: 'opneai:gpt-5-mini',
      TEMPORAL_ADDRESS: 'http://localhost:7233',
    });
    expect(code).toBe(1);
    for (const name of ['PORT', 'EVERTHREAD_DATA', 'EVERTHREAD_MODEL', 'TEMPORAL_ADDRESS'])
      expect(stderr).toMatch(new RegExp(`^  - ${name} is `, 'm'));
    expect(stderr).toContain(`${file} is a file`);
  });

  const refused = (model: string): boolean => !shape.model.schema.safeParse(model).success;
  test('a model without a provider that could be known is refused there, others are not', () => {
    const bad = ['openai', 'openai:', ':gpt', 'opneai:gpt-5-mini', 'a b'];
    const good = [
      'builtin',
      'gpt-5-mini',
      'openai:gpt-5-mini',
      'amazon.nova-pro-v1:0',
      'ollama:a:7b',
    ];
    expect(bad.filter(refused)).toEqual(bad);
    expect(good.filter(refused)).toEqual([]);
  });

  test('the providers that settings know are those that LangChain knows', () => {
    expect([...shape.modelProviders].sort()).toEqual(
      Object.keys(universal.MODEL_PROVIDER_CONFIG).sort(),
    );
  });
});

describe('a graph file that ends the process', () => {
  test.each([0, 7])('is named, and ends no process, whatever code it gave: %d', async (given) => {
    const project = mkdtempSync(path.join(folder, 'project-'));
    writeFileSync(path.join(project, 'exits.mjs'), `process.exit(${given});`);
    const config = path.join(project, 'langgraph.json');
    writeFileSync(config, JSON.stringify({ graphs: { quitter: './exits.mjs:graph' } }));
    const { code, stderr } = await run('dev', {
      EVERTHREAD_CONFIG: config,
      EVERTHREAD_STORAGE: 'memory',
    });
    expect(code).toBe(1);
    expect(stderr).toContain(config);
    expect(stderr).toContain('./exits.mjs');
    expect(stderr).toContain('"quitter"');
    expect(stderr).toContain('process.exit');
  });
});

describe('a Temporal dev server that dies as soon as it has answered', () => {
  test('is started again, and the start goes on', async () => {
    const died = path.join(folder, 'died');
    const product = await startProduct({
      EVERTHREAD_TEMPORAL_CLI: fileURLToPath(
        new URL('../support/dying-temporal.mjs', import.meta.url),
      ),
      REAL_CLI: await testCli(),
      DIED_FILE: died,
    });
    expect(existsSync(died)).toBe(true);
    expect((await product.chat('t', 'after the restart')).json).toMatchObject({ version: 1 });
    await product.stop();
  });
});
