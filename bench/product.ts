/** Everthread as its users run it, for a row of the bench. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { freePort } from '../temporal/ports.js';
import { everthread, untilReady } from '../test/support/processes.js';
import type { Proc } from '../test/support/processes.js';
import { httpClient } from './http-turns.js';
import type { HttpClient } from './http-turns.js';
import { replies } from './prose.js';
import type { Stage } from './stage.js';

export interface Product {
  readonly url: string;
  readonly client: HttpClient;
  readonly dataFolder: string;
  readonly pid: number;
  readonly proc: Proc;
  end(signal?: NodeJS.Signals): Promise<void>;
}

export interface ProductOptions {
  readonly name: string;
  /** A Temporal server that runs; without it the product starts its own. */
  readonly temporalAddress?: string;
  /** Where an earlier process left off. */
  readonly dataFolder?: string;
  readonly env: Record<string, string>;
  /** Writes a CPU profile, if the bench was asked for one. */
  readonly profiled?: boolean;
  /** Another build's `bin/everthread.js`. */
  readonly bin?: string;
}

/** `everthread dev` on SQLite, ready for turns. */
export async function startProduct(stage: Stage, options: ProductOptions): Promise<Product> {
  const dataFolder = options.dataFolder ?? stage.folder(options.name);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = {
    ...quietEnv,
    ...options.env,
    PORT: String(port),
    EVERTHREAD_DATA: dataFolder,
    EVERTHREAD_TASK_QUEUE: `bench-${options.name}`,
    ...(options.temporalAddress === undefined
      ? { EVERTHREAD_TEMPORAL_PORT: '0', EVERTHREAD_TEMPORAL_UI_PORT: '0' }
      : { TEMPORAL_ADDRESS: options.temporalAddress }),
  };
  const flags = options.profiled === true ? profileFlags(stage) : [];
  const proc = everthread(['dev'], env, flags, options.bin);
  stage.parts.add(proc, () => proc.end());
  await untilReady(url, proc);
  const client = httpClient(url);
  const end = async (signal?: NodeJS.Signals): Promise<void> => {
    client.close();
    await proc.end(signal);
  };
  return { url, client, dataFolder, pid: proc.child.pid ?? 0, proc, end };
}

export const quietEnv = { LOG_LEVEL: 'warn', EVERTHREAD_THREAD_IDLE: '10m' };

/** The graphs of bench/fixtures: a model that takes no time, in the worker's own process. */
export function fixtureEnv(stage: Stage, marks = ''): Record<string, string> {
  const file = path.join(stage.folder('replies'), 'replies.json');
  writeFileSync(file, JSON.stringify(replies));
  return {
    EVERTHREAD_CONFIG: path.resolve('bench/fixtures/langgraph.json'),
    BENCH_REPLIES: file,
    BENCH_MARKS: marks,
  };
}

/** The shipped `agent` graph with the scripted provider. */
export const agentEnv = (modelUrl: string): Record<string, string> => ({
  EVERTHREAD_MODEL: 'openai:scripted',
  OPENAI_API_KEY: 'bench',
  OPENAI_BASE_URL: modelUrl,
});

const profileFlags = ({ profiles }: Stage): readonly string[] =>
  profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profiles}`];

/** Times at which the fixture's slow node has started, in ms since 1970. */
export const marksIn = (file: string): readonly number[] =>
  readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number);
