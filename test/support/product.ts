/** `everthread dev` as a person runs it, with a scripted model, on free ports and a folder of its own. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '../../temporal/ports.js';
import { everthread, untilReady } from './processes.js';
import type { Proc } from './processes.js';
import { startScriptedModel } from './scripted-model.js';
import type { ScriptedModel } from './scripted-model.js';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // The body of a test's own request; each test looks at what it expects.
  readonly json: Record<string, unknown>;
}

export interface Product {
  readonly url: string;
  readonly model: ScriptedModel;
  readonly data: string;
  proc(): Proc;
  /** Starts it, again after it was ended, in the same folder. */
  start(): Promise<void>;
  post(route: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
  get(route: string): Promise<Answer>;
  chat(thread: string, message: string, headers?: Record<string, string>): Promise<Answer>;
  /** Ends it and everything that it started. */
  stop(): Promise<void>;
}

export async function startProduct(env: Record<string, string> = {}): Promise<Product> {
  const data = await mkdtemp(path.join(tmpdir(), 'everthread-product-'));
  const model = await startScriptedModel();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const settings = {
    EVERTHREAD_DATA: data,
    PORT: String(port),
    EVERTHREAD_TEMPORAL_PORT: '0',
    EVERTHREAD_TEMPORAL_UI_PORT: '0',
    EVERTHREAD_MODEL: 'openai:scripted',
    OPENAI_API_KEY: 'test',
    OPENAI_BASE_URL: model.url,
    LOG_LEVEL: 'warn',
    ...env,
  };
  let proc: Proc;
  const product: Product = {
    url,
    model,
    data,
    proc: () => proc,
    async start() {
      proc = everthread(['dev'], settings);
      await untilReady(url, proc);
    },
    post: (route, body, headers = {}) =>
      request(`${url}${route}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
    get: (route) => request(`${url}${route}`, {}),
    chat: (thread, message, headers = {}) =>
      product.post('/v1/chat', { message }, { 'x-thread-id': thread, ...headers }),
    async stop() {
      // A process that was killed leaves its Temporal behind; the next start finds it, and a clean end takes it along.
      if (!proc.alive()) await product.start();
      await proc.end();
      await model.close();
      await rm(data, { recursive: true, force: true });
    },
  };
  await product.start().catch(async (error: unknown) => {
    await model.close(); // or the file of the failed test never ends
    throw error;
  });
  return product;
}

export async function request(url: string, init: RequestInit): Promise<Answer> {
  const answer = await fetch(url, init);
  const text = await answer.text();
  let json: Answer['json'] = {};
  try {
    json = JSON.parse(text) as Answer['json'];
  } catch {
    // Not JSON: the test looks at the text.
  }
  return { status: answer.status, headers: answer.headers, text, json };
}
