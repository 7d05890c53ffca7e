/** Gateways and workers as processes of their own, started and ended one by one, of this build or of an old one. */
import { once } from 'node:events';
import { onPostgres } from '../support/database.js';
import { everthread } from '../support/processes.js';
import { untilReady } from '../support/processes.js';
import type { Proc } from '../support/processes.js';
import { request } from '../support/product.js';
import type { Answer } from '../support/product.js';
import { startScriptedModel } from '../support/scripted-model.js';
import type { ScriptedModel } from '../support/scripted-model.js';
import { until } from '../support/until.js';
import { freePort } from '../../temporal/ports.js';

export interface ProcOptions {
  readonly env?: Record<string, string>;
  readonly nodeFlags?: readonly string[];
  /** Path of another build's `bin/everthread.js`. */
  readonly bin?: string;
}

export interface GatewayProc extends Proc {
  readonly url: string;
  get(route: string): Promise<Answer>;
  post(route: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Waits for the reply. */
  chat(thread: string, message: string, headers?: Record<string, string>): Promise<Answer>;
  /** Accepts a turn and does not wait for it. @returns its id */
  accept(thread: string, message: string, headers?: Record<string, string>): Promise<string>;
}

export interface Fleet {
  readonly model: ScriptedModel;
  readonly postgresUrl: string;
  gateway(options?: ProcOptions): Promise<GatewayProc>;
  worker(options?: ProcOptions): Promise<Proc>;
  migrate(options?: ProcOptions): Promise<Proc>;
  stop(): Promise<void>;
}

/** Two seconds of CPU, which a machine that is overrun may take a minute for. */
const startLimitMs = 180_000;

export async function startFleet(given: {
  readonly postgresUrl: string;
  readonly temporalAddress: string;
  readonly env?: Record<string, string>;
}): Promise<Fleet> {
  const model = await startScriptedModel();
  const common = {
    EVERTHREAD_STORAGE: 'postgres',
    EVERTHREAD_POSTGRES_URL: given.postgresUrl,
    TEMPORAL_ADDRESS: given.temporalAddress,
    EVERTHREAD_MODEL: 'openai:scripted',
    OPENAI_API_KEY: 'test',
    OPENAI_BASE_URL: model.url,
    LOG_LEVEL: 'info',
    ...given.env,
  };
  const all: Proc[] = [];
  const spawn = (command: string, env: Record<string, string>, options: ProcOptions): Proc => {
    const proc = everthread(
      [command],
      { ...common, ...env, ...options.env },
      options.nodeFlags,
      options.bin,
    );
    all.push(proc);
    return proc;
  };
  return {
    model,
    postgresUrl: given.postgresUrl,
    async gateway(options = {}) {
      const port = await freePort();
      const url = `http://127.0.0.1:${port}`;
      const proc = spawn('gateway', { PORT: String(port) }, options);
      await untilReady(url, proc);
      return gatewayAt(url, proc);
    },
    async worker(options = {}) {
      const proc = spawn('worker', {}, options);
      await said(proc, 'worker is ready', startLimitMs);
      return proc;
    },
    async migrate(options = {}) {
      const proc = spawn('migrate', {}, options);
      if (proc.alive()) await once(proc.child, 'exit');
      return proc;
    },
    async stop() {
      // A frozen process takes no other signal than these two.
      for (const proc of all) if (proc.alive()) proc.child.kill('SIGCONT');
      await Promise.all(all.map((proc) => proc.end('SIGKILL')));
      await model.close();
    },
  };
}

/** Waits until the process has logged this. @throws when it ends before */
export const said = (proc: Proc, text: string, limitMs?: number): Promise<true> =>
  until(
    `"${text}"`,
    () => {
      if (proc.log().includes(text)) return true;
      if (!proc.alive()) throw new Error(`the process ended: ${proc.log().slice(-2_000)}`);
      return undefined;
    },
    limitMs,
  );

function gatewayAt(url: string, proc: Proc): GatewayProc {
  const gateway: GatewayProc = {
    ...proc,
    url,
    get: (route) => request(`${url}${route}`, {}),
    post: (route, body, headers = {}) =>
      request(`${url}${route}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
    chat: (thread, message, headers = {}) =>
      gateway.post('/v1/chat', { message }, { 'x-thread-id': thread, ...headers }),
    async accept(thread, message, headers = {}) {
      const answer = await gateway.chat(thread, message, { prefer: 'respond-async', ...headers });
      if (answer.status !== 202) throw new Error(`${answer.status}: ${answer.text}`);
      return String(answer.json.turn_id);
    },
  };
  return gateway;
}

export interface TurnRow {
  readonly thread_id: string;
  readonly seq: number;
  readonly status: string;
  readonly version: number | null;
  readonly fence: number;
  readonly losses: number;
  readonly input: string;
  readonly response: string;
  readonly failure_code: string | null;
}

/** Turns as they stand in the database, in order. */
export const turnRows = (url: string, thread = '%'): Promise<TurnRow[]> =>
  onPostgres(url, async (client) => {
    const { rows } = await client.query<TurnRow>(
      `SELECT thread_id, seq::int, status, version::int, fence::float8, losses::int, input, response, failure_code
       FROM et_turns WHERE thread_id LIKE $1 ORDER BY thread_id, seq`,
      [thread],
    );
    return rows;
  });

/** Waits until every turn of these threads is settled. */
export const allSettled = (url: string, thread: string, limitMs = 90_000): Promise<TurnRow[]> =>
  until(
    `the turns of ${thread} to settle`,
    async () => {
      const rows = await turnRows(url, thread);
      const open = rows.some(({ status }) => status === 'pending' || status === 'running');
      return rows.length === 0 || open ? undefined : rows;
    },
    limitMs,
  );

/** What must hold of threads whose turns all committed: dense versions in the order of seq, each reply over exactly those before it. */
export function brokenRules(rows: readonly TurnRow[]): string[] {
  const counts = new Map<string, number>();
  const broken: string[] = [];
  for (const row of rows) {
    const nth = (counts.get(row.thread_id) ?? 0) + 1;
    counts.set(row.thread_id, nth);
    const where = `${row.thread_id} seq ${row.seq}`;
    if (row.status !== 'committed')
      broken.push(`${where} is ${row.status} ${row.failure_code ?? ''}`);
    if (row.version !== nth)
      broken.push(`${where} has version ${row.version ?? 'none'}, not ${nth}`);
    if (!row.response.startsWith(`seen ${nth}: `)) broken.push(`${where} says "${row.response}"`);
  }
  return broken;
}
