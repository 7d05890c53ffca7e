/** Which task queues a worker serves, and how much at once. */
import { mainQueue } from '../contracts/task-queues.js';
import type { Command } from './config.js';
import type { SettingReader } from './problems.js';
import * as shape from './shapes.js';

/** Short names, as in langgraph.json; `all` are those that it names, and the main one. */
export type WorkerQueues = 'all' | readonly string[];

/** What Temporal knows the main queue by, unless EVERTHREAD_TASK_QUEUE says otherwise. */
export const usualTaskQueue = 'everthread';

export interface QueueConfig {
  readonly workerQueues: WorkerQueues;
  /** Turns that run at once, of each queue. */
  readonly turnsAtOnce: number;
}

const list = shape.word(
  /^[\w-]{1,64}(\s*,\s*[\w-]{1,64})*$/,
  'names of task queues of langgraph.json, separated by commas: main,gpu; or all',
);

/** One turn is mostly waiting for a model, so many fit; each holds one graph state in memory. */
const usualTurnsAtOnce = 200;

/** The only worker of `dev` serves whatever there is. */
export function resolveQueues(reader: SettingReader, command: Command): QueueConfig {
  const text = reader.read('EVERTHREAD_WORKER_QUEUES', list, mainQueue);
  const names = [...new Set(text.split(',').map((name) => name.trim()))];
  return {
    workerQueues: command === 'dev' || names.includes('all') ? 'all' : names,
    turnsAtOnce: reader.read('EVERTHREAD_TURNS_AT_ONCE', shape.count(1, 10_000), usualTurnsAtOnce),
  };
}
