/**
 * Whole systems whose processes die at named points and are replaced: `everthread dev` on SQLite, or a gateway and two
 * workers on PostgreSQL. Driven over HTTP alone, as a client would.
 */
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { CrashPoint } from '../../contracts/crash-point.js';
import { workflowIdOf } from '../../contracts/protocol.js';
import { connectTemporal } from '../../temporal/connection.js';
import { freePort } from '../../temporal/ports.js';
import { crashPreload } from './crash-preload.js';
import { createPostgresDatabase, onPostgres } from './database.js';
import { everthread, startCluster, untilReady } from './processes.js';
import type { Proc } from './processes.js';
import { request, startProduct } from './product.js';
import type { Answer } from './product.js';
import { startScriptedModel } from './scripted-model.js';
import type { ScriptedModel } from './scripted-model.js';
import { startTestTemporal } from './temporal-server.js';
import { until } from './until.js';
import { openSqlite } from '../../storage/sqlite-library.js';

/** The preload knows one point more than the product does. */
export type Point = CrashPoint | 'in-workflow-task';
export type MortalKind = 'sqlite' | 'postgres';

export interface Mortal {
  readonly kind: MortalKind;
  readonly model: ScriptedModel;
  post(route: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
  get(route: string): Promise<Answer>;
  delete(route: string): Promise<Answer>;
  /** Posts for a stream; `onToken` is called with all that came when the client is shown its first token. */
  stream(
    route: string,
    ask: {
      readonly body: unknown;
      readonly headers?: Record<string, string>;
      readonly onToken: (text: string) => void | Promise<void>;
    },
  ): Promise<Answer>;
  /** The URL for what is more than one request. */
  url(): string;
  /** Arms the point for this thread ('' for any): the process that reaches it first is killed, or stopped with `pause`. */
  arm(point: Point, thread: string, how?: 'kill' | 'pause'): Promise<void>;
  /** Waits until the armed process has died by SIGKILL, and starts its successor. @returns what died */
  dead(point: Point, thread: string): Promise<'dev' | 'gateway' | 'worker'>;
  /** Waits for a death by SIGKILL, whatever the reason, and starts the successor. */
  replaceDead(): Promise<'dev' | 'gateway' | 'worker'>;
  /** Makes rows older than any healthy silence, so that the next look of a sweeper takes the thread. */
  age(thread: string): Promise<void>;
  /** The fence of the thread's first turn: how many claims it took. */
  fence(thread: string): Promise<number>;
  /** Id of the thread's newest turn, settled or not. */
  newestTurn(thread: string): Promise<string | undefined>;
  /** A sweeper has taken the thread. */
  swept(thread: string): Promise<boolean>;
  /** The thread's run has completed: nothing of it is open in Temporal. */
  sleeps(thread: string): Promise<boolean>;
  /** Processes by role, those that live. */
  procs(role: 'gateway' | 'worker'): readonly Proc[];
  addWorker(): Proc;
  stop(): Promise<void>;
}

/** Two minutes: longer than a sweeper's silence and its first pauses. */
const ageTurn = `UPDATE et_turns SET accepted_at_ms = accepted_at_ms - 120000, alive_at_ms = alive_at_ms - 120000
  WHERE thread_id = $1`;
const ageSweep = `UPDATE et_threads SET swept_at_ms = swept_at_ms - 240000 WHERE swept_at_ms > 0 AND thread_id = $1`;

export async function startMortal(
  kind: MortalKind,
  env: Record<string, string> = {},
): Promise<Mortal> {
  const folder = await mkdtemp(path.join(tmpdir(), 'everthread-mortal-'));
  const armed = {
    ...crashPreload,
    EVERTHREAD_TEST_CRASH_FOLDER: folder,
    ...env,
  };
  const body = kind === 'sqlite' ? await devSystem(armed) : await clusterSystem(armed);
  const fileOf = (point: Point, thread: string): string => path.join(folder, `${point}@${thread}`);
  return {
    kind,
    ...body,
    post: (route, content, headers = {}) =>
      request(`${body.url()}${route}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(content),
      }),
    stream: (route, asked) => streamOf(`${body.url()}${route}`, asked),
    get: (route) => request(`${body.url()}${route}`, {}),
    delete: (route) => request(`${body.url()}${route}`, { method: 'DELETE' }),
    async age(thread) {
      for (const text of [ageTurn, ageSweep]) await body.sql(text, thread);
    },
    async newestTurn(thread) {
      const rows = await body.sql(
        `SELECT turn_id FROM et_turns WHERE thread_id = $1 ORDER BY seq DESC LIMIT 1`,
        thread,
      );
      return rows[0]?.turn_id as string | undefined;
    },
    async swept(thread) {
      const rows = await body.sql(
        `SELECT swept_at_ms FROM et_threads WHERE swept_at_ms > 0 AND thread_id = $1`,
        thread,
      );
      return rows.length > 0;
    },
    async fence(thread) {
      const rows = await body.sql(
        `SELECT fence FROM et_turns WHERE seq = 1 AND thread_id = $1`,
        thread,
      );
      return Number(rows[0]?.fence);
    },
    arm: (point, thread, how = 'kill') => writeFile(fileOf(point, thread), how),
    async dead(point, thread) {
      const reached = (): true | undefined =>
        existsSync(fileOf(point, thread)) ? undefined : true;
      await until(`${point} of ${thread} to be reached`, reached, 30_000);
      return await body.replaceDead();
    },
    async stop() {
      await body.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function streamOf(
  url: string,
  { body, headers, onToken }: Parameters<Mortal['stream']>[1],
): Promise<Answer> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers },
    body: JSON.stringify(body),
  });
  let text = '';
  let told = false;
  for await (const chunk of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    if (told || !text.includes('event: token')) continue;
    told = true;
    await onToken(text);
  }
  return { status: answer.status, headers: answer.headers, text, json: {} };
}

type Body = Pick<
  Mortal,
  'sleeps' | 'model' | 'url' | 'procs' | 'addWorker' | 'replaceDead' | 'stop'
> & {
  /** One statement with the thread as its only value. */
  sql(text: string, thread: string): Promise<readonly Record<string, unknown>[]>;
};

const killed = (proc: Proc): boolean => proc.child.signalCode === 'SIGKILL';

async function devSystem(env: Record<string, string>): Promise<Body> {
  const product = await startProduct(env);
  return {
    model: product.model,
    url: () => product.url,
    procs: () => [product.proc()],
    addWorker: () => {
      throw new Error('one process has one worker');
    },
    sleeps: () => Promise.reject(new Error('only asked of a cluster')),
    async sql(text, thread) {
      const db = openSqlite(path.join(product.data, 'everthread.db'), { timeout: 5_000 });
      try {
        const statement = db.prepare(text.replace('$1', '?'));
        if (statement.reader) return statement.all(thread) as Record<string, unknown>[];
        statement.run(thread);
        return [];
      } finally {
        db.close();
      }
    },
    async replaceDead() {
      await until('the process to die', () => (killed(product.proc()) ? true : undefined));
      await product.start();
      return 'dev';
    },
    stop: () => product.stop(),
  };
}

async function clusterSystem(extra: Record<string, string>): Promise<Body> {
  const [temporal, database, model, port] = await Promise.all([
    startTestTemporal(),
    createPostgresDatabase(),
    startScriptedModel(),
    freePort(),
  ]);
  const env = {
    EVERTHREAD_STORAGE: 'postgres',
    EVERTHREAD_POSTGRES_URL: database.url,
    TEMPORAL_ADDRESS: temporal.address,
    PORT: String(port),
    EVERTHREAD_MODEL: 'openai:scripted',
    OPENAI_API_KEY: 'test',
    OPENAI_BASE_URL: model.url,
    LOG_LEVEL: 'warn',
    ...extra,
  };
  const url = `http://127.0.0.1:${port}`;
  const cluster = await startCluster({
    ...{ port, workers: 2, postgresUrl: database.url, temporalAddress: temporal.address, env },
  });
  const connection = await connectTemporal({
    ...{ address: temporal.address, namespace: 'default', security: {} },
  });
  let { gateway } = cluster;
  const { workers } = cluster;
  return {
    model,
    url: () => url,
    procs: (role) => (role === 'gateway' ? [gateway] : workers.filter((w) => w.alive())),
    addWorker: () => cluster.addWorker(),
    async sleeps(threadId) {
      const [row] = await onPostgres(database.url, async (client) => {
        const { rows } = await client.query<{ store: string }>(`SELECT store FROM et_schema`);
        return rows;
      });
      const id = workflowIdOf({ tenant: 'default', threadId, store: row?.store ?? '' });
      const { status } = await connection.client.workflow.getHandle(id).describe();
      return status.name === 'COMPLETED';
    },
    sql: (text, thread) =>
      onPostgres(database.url, async (client) => {
        const { rows } = await client.query<Record<string, unknown>>(text, [thread]);
        return rows;
      }),
    async replaceDead() {
      const dead = await until('a process to die', () => [gateway, ...workers].find(killed));
      if (dead !== gateway) {
        workers.splice(workers.indexOf(dead), 1);
        cluster.addWorker();
        return 'worker';
      }
      gateway = everthread(['gateway'], env);
      await untilReady(url, gateway);
      return 'gateway';
    },
    async stop() {
      await gateway.end('SIGKILL');
      await cluster.stop();
      await connection.close();
      await model.close();
      await database.drop();
      await temporal.stop();
    },
  };
}
