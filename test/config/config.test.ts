import { describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { resolveConfig } from '../../config/config.js';
import { describeStorage } from '../../config/storage.js';
import type { Command } from '../../config/config.js';
import type { Environment } from '../../config/env.js';
import { ConfigError } from '../../config/problems.js';

const cwd = path.join(tmpdir(), 'a-folder-that-does-not-exist');
const resolve = (env: Environment = {}, command: Command = 'dev') =>
  resolveConfig(env, { command, cwd });

function problemsOf(env: Environment, command: Command = 'dev') {
  try {
    resolve(env, command);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}
const namesOf = (env: Environment, command: Command = 'dev') =>
  problemsOf(env, command).map((p) => p.variable);

const cluster = {
  EVERTHREAD_POSTGRES_URL: 'postgresql://me:hunter2@db.internal:5432/everthread',
  TEMPORAL_ADDRESS: 'temporal:7233',
};

describe('defaults', () => {
  test('dev needs no setting at all', () => {
    expect(resolve()).toEqual({
      command: 'dev',
      host: '127.0.0.1',
      port: 8080,
      allowRemote: false,
      requestLimits: { bodyBytes: 1_048_576, messageChars: 100_000, maxPending: 100 },
      storage: { kind: 'sqlite', path: path.join(cwd, '.everthread', 'everthread.db') },
      dataFolder: path.join(cwd, '.everthread'),
      autoMigrate: true,
      temporal: { kind: 'dev', port: 7233, uiPort: 8233, searchPath: '' },
      namespace: 'default',
      taskQueue: 'everthread',
      graphConfig: null,
      model: 'builtin',
      cachedThreads: 500,
      workerQueues: 'all',
      turnsAtOnce: 200,
      tracing: null,
      agents: {
        contextBudgetTokens: 16_000,
        summaryModel: null,
        maxSteps: 15,
        maxTurnTokens: null,
        maxTurnCost: null,
        prices: { input: 0, output: 0 },
      },
      supportDocs: null,
      threadIdleMs: 600_000,
      turnTimeoutMs: 600_000,
      stepTimeoutMs: 300_000,
      requestWaitMs: 120_000,
      isolation: { threads: null, memoryMb: null },
      sweep: { everyMs: 5_000, quietMs: 30_000 },
      drainMs: 5_000,
      logLevel: 'info',
      metrics: null,
      deployment: { name: 'everthread', buildId: null },
      unknownVariables: [],
    });
  });

  test('gateway and worker are on postgres and migrate nothing by themselves', () => {
    for (const command of ['gateway', 'worker'] as const) {
      expect(resolve(cluster, command)).toMatchObject({
        storage: { kind: 'postgres', url: cluster.EVERTHREAD_POSTGRES_URL, poolSize: 10 },
        autoMigrate: false,
        temporal: { kind: 'external', env: { TEMPORAL_ADDRESS: 'temporal:7233' } },
      });
    }
  });

  test('a worker drains for as long as its longest superstep', () => {
    const { drainMs } = resolve({ ...cluster, EVERTHREAD_STEP_TIMEOUT: '90s' }, 'worker');
    expect(drainMs).toBe(90_000);
  });

  test('migrate goes where the PostgreSQL address points, else to the SQLite file', () => {
    expect(resolve({}, 'migrate').storage.kind).toBe('sqlite');
    expect(resolve(cluster, 'migrate').storage.kind).toBe('postgres');
  });

  test('an empty variable counts as unset', () => {
    const empty = { PORT: '', EVERTHREAD_MODEL: '', EVERTHREAD_STORAGE: ' ', TEMPORAL_ADDRESS: '' };
    expect(resolve(empty)).toEqual(resolve());
  });

  test('langgraph.json of the working directory is served when there is one', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'everthread-config-'));
    try {
      const file = path.join(folder, 'langgraph.json');
      writeFileSync(file, '{}');
      expect(resolveConfig({}, { command: 'dev', cwd: folder }).graphConfig).toBe(file);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('values', () => {
  test('each setting is taken from its variable', () => {
    const env = {
      HOST: '::1',
      PORT: '0',
      EVERTHREAD_MAX_BODY_BYTES: '4000000',
      EVERTHREAD_MAX_MESSAGE_CHARS: '500000',
      EVERTHREAD_MAX_PENDING_TURNS: '7',
      EVERTHREAD_DATA: 'data',
      EVERTHREAD_SQLITE_PATH: '/var/threads.db',
      EVERTHREAD_AUTO_MIGRATE: 'false',
      EVERTHREAD_TEMPORAL_CLI: '/opt/temporal',
      EVERTHREAD_TEMPORAL_PORT: '17233',
      EVERTHREAD_TEMPORAL_UI_PORT: '0',
      TEMPORAL_NAMESPACE: 'chat',
      EVERTHREAD_TASK_QUEUE: 'q-1',
      EVERTHREAD_MODEL: 'openai:gpt-5-mini',
      EVERTHREAD_THREAD_IDLE: 'never',
      EVERTHREAD_TURN_TIMEOUT: '1.5h',
      EVERTHREAD_STEP_TIMEOUT: '30 s',
      LOG_LEVEL: 'debug',
      PATH: '/usr/bin',
      XDG_CACHE_HOME: '/cache',
    };
    expect(resolve(env)).toMatchObject({
      host: '::1',
      port: 0,
      requestLimits: { bodyBytes: 4_000_000, messageChars: 500_000, maxPending: 7 },
      dataFolder: path.join(cwd, 'data'),
      storage: { kind: 'sqlite', path: '/var/threads.db' },
      autoMigrate: false,
      temporal: {
        kind: 'dev',
        cliPath: '/opt/temporal',
        searchPath: '/usr/bin',
        xdgCacheHome: '/cache',
        port: 17233,
        uiPort: 0,
      },
      namespace: 'chat',
      taskQueue: 'q-1',
      model: 'openai:gpt-5-mini',
      threadIdleMs: null,
      turnTimeoutMs: 5_400_000,
      stepTimeoutMs: 30_000,
      logLevel: 'debug',
    });
  });

  test('a step never outlives its turn', () => {
    expect(resolve({ EVERTHREAD_TURN_TIMEOUT: '20s' }).stepTimeoutMs).toBe(20_000);
  });

  test('an external Temporal gets every TEMPORAL variable that has a value, and nothing of ours', () => {
    const { temporal } = resolve({
      TEMPORAL_ADDRESS: 'x.tmprl.cloud:7233',
      TEMPORAL_API_KEY: 'k',
      TEMPORAL_TLS_SERVER_NAME: 'x',
      TEMPORAL_GRPC_META_A: 'b',
      TEMPORAL_TLS: '',
      OPENAI_API_KEY: 'no',
    });
    expect(temporal).toEqual({
      kind: 'external',
      env: {
        TEMPORAL_ADDRESS: 'x.tmprl.cloud:7233',
        TEMPORAL_API_KEY: 'k',
        TEMPORAL_TLS_SERVER_NAME: 'x',
        TEMPORAL_GRPC_META_A: 'b',
      },
    });
  });

  test('a variable that looks like ours and is not is told, not refused', () => {
    expect(resolve({ EVERTHREAD_STORGE: 'postgres' }).unknownVariables).toEqual([
      'EVERTHREAD_STORGE',
    ]);
  });
});

describe('problems', () => {
  test('all problems are reported at once, each with variable, fault and what is allowed', () => {
    const env = {
      HOST: '0.0.0.0',
      PORT: '99999',
      EVERTHREAD_STORAGE: 'mysql',
      EVERTHREAD_POSTGRES_POOL: '0',
      EVERTHREAD_AUTO_MIGRATE: 'maybe',
      EVERTHREAD_TEMPORAL_PORT: 'http',
      EVERTHREAD_CONFIG: 'nowhere.json',
      EVERTHREAD_THREAD_IDLE: '10',
      EVERTHREAD_TURN_TIMEOUT: '10 lightyears',
      EVERTHREAD_STEP_TIMEOUT: '-5m',
      EVERTHREAD_TASK_QUEUE: 'a b',
      LOG_LEVEL: 'loud',
    };
    const problems = problemsOf(env);
    expect(problems.map((p) => p.variable).sort()).toEqual(Object.keys(env).sort());
    for (const { wrong, allowed } of problems) {
      expect(wrong).not.toBe('');
      expect(allowed).not.toBe('');
    }
  });

  test('the error text names them line by line', () => {
    expect(() => resolve({ PORT: 'x', LOG_LEVEL: 'y' })).toThrow(
      [
        'These settings cannot be used:',
        '  - PORT is "x". Allowed: a port, 0-65535 (0 picks a free one).',
        '  - LOG_LEVEL is "y". Allowed: trace, debug, info, warn, error, fatal, silent.',
      ].join('\n'),
    );
  });

  test('a host that others can reach is refused until someone asks for it', () => {
    for (const host of ['0.0.0.0', '::', '192.168.1.5', '127.evil.example', 'example.com']) {
      expect(namesOf({ HOST: host })).toEqual(['HOST']);
    }
    expect(problemsOf({ HOST: '0.0.0.0' })[0]?.allowed).toContain('--allow-remote');
    for (const host of ['127.0.0.1', '127.1.2.3', '::1', 'localhost']) {
      expect(namesOf({ HOST: host })).toEqual([]);
    }
    expect(namesOf({ HOST: '0.0.0.0', EVERTHREAD_ALLOW_REMOTE: 'true' })).toEqual([]);
    expect(
      resolveConfig({ HOST: '0.0.0.0' }, { command: 'dev', cwd, allowRemote: true }).host,
    ).toBe('0.0.0.0');
  });

  test('a worker listens nowhere, so its HOST is nobody’s problem', () => {
    expect(namesOf({ ...cluster, HOST: '0.0.0.0' }, 'worker')).toEqual([]);
  });

  test('gateway and worker refuse storage of one process and say why', () => {
    for (const kind of ['memory', 'sqlite']) {
      const [problem, ...more] = problemsOf(
        { ...cluster, EVERTHREAD_STORAGE: kind },
        kind === 'memory' ? 'gateway' : 'worker',
      );
      expect(more).toEqual([]);
      expect(problem).toMatchObject({ variable: 'EVERTHREAD_STORAGE', allowed: 'postgres' });
      expect(problem?.wrong).toContain('one process only');
    }
  });

  test('gateway without anything learns all that it lacks in one go', () => {
    expect(namesOf({}, 'gateway')).toEqual(['EVERTHREAD_POSTGRES_URL', 'TEMPORAL_ADDRESS']);
  });

  test('there is nothing to migrate in memory', () => {
    expect(namesOf({ EVERTHREAD_STORAGE: 'memory' }, 'migrate')).toEqual(['EVERTHREAD_STORAGE']);
  });

  test('A7 a message that no body can hold is a setting that cannot be kept', () => {
    const small = { EVERTHREAD_MAX_BODY_BYTES: '2048' };
    expect(resolve(small).requestLimits).toMatchObject({ bodyBytes: 2_048, messageChars: 2_048 });
    const message = 'EVERTHREAD_MAX_MESSAGE_CHARS';
    expect(namesOf({ ...small, [message]: '4096' })).toEqual([message]);
    for (const bytes of ['0', '100', '16777217', '1MB']) {
      expect(namesOf({ EVERTHREAD_MAX_BODY_BYTES: bytes })).toEqual(['EVERTHREAD_MAX_BODY_BYTES']);
    }
  });

  test('the dev server cannot have one port twice', () => {
    expect(namesOf({ EVERTHREAD_TEMPORAL_PORT: '8233' })).toEqual(['EVERTHREAD_TEMPORAL_UI_PORT']);
  });

  test('a PostgreSQL address is never shown, neither a wrong one nor its password', () => {
    const env = { EVERTHREAD_STORAGE: 'postgres', EVERTHREAD_POSTGRES_URL: 'me:hunter2@db' };
    expect(JSON.stringify(problemsOf(env))).not.toContain('hunter2');
    const { storage } = resolve(cluster, 'gateway');
    expect(describeStorage(storage)).toBe('postgres db.internal:5432/everthread');
  });
});
