/** The dialogues on whole systems, with and without processes that are killed; for the script and for the test. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '../temporal/ports.js';
import { everthread, startCluster, untilReady } from '../test/support/processes.js';
import type { Proc } from '../test/support/processes.js';
import { fromDialogues } from '../test/support/scripted-answers.js';
import type { Dialogue } from '../test/support/scripted-answers.js';
import { startScriptedModel } from '../test/support/scripted-model.js';
import { compareHistories, playDialogues, turnCount } from './dialogues.js';
import type { Played } from './dialogues.js';

export interface DialogueRunOptions {
  readonly dialogues: readonly Dialogue[];
  readonly temporalAddress: string;
  /** A process is killed whenever so many more turns are done, so that the nemesis keeps pace with the machine. */
  readonly killEvery?: number;
  readonly onTurn?: (done: number) => void;
}

export interface DialogueRun extends Played {
  readonly kills: number;
  readonly modelCalls: number;
  /** Threads whose history is not their dialogue. */
  readonly wrong: readonly string[];
}

/** Dialogues at a time, each on a thread of its own. */
export const atOnce = 8;

/** One process on SQLite; it is what a kill ends, with everything that it serves at that moment. */
export async function dialoguesOnSqlite(options: DialogueRunOptions): Promise<DialogueRun> {
  const data = await mkdtemp(path.join(tmpdir(), 'everthread-dialogues-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  let dev: Proc | undefined;
  try {
    return await run(options, {
      async start(env) {
        const start = (): Proc =>
          everthread(['dev'], {
            ...env,
            EVERTHREAD_DATA: data,
            PORT: String(port),
            TEMPORAL_ADDRESS: options.temporalAddress,
            EVERTHREAD_TASK_QUEUE: 'dialogues-sqlite',
          });
        dev = start();
        await untilReady(url, dev);
        const killOne = async (): Promise<void> => {
          await dev?.end('SIGKILL');
          dev = start();
        };
        return { url, killOne };
      },
      stop: async () => dev?.end(),
    });
  } finally {
    await rm(data, { recursive: true, force: true });
  }
}

/** Gateway and two workers on PostgreSQL; a kill ends a worker, and another one takes its place. */
export async function dialoguesOnPostgres(
  options: DialogueRunOptions & { readonly postgresUrl: string },
): Promise<DialogueRun> {
  let cluster: Awaited<ReturnType<typeof startCluster>> | undefined;
  return await run(options, {
    async start(env) {
      const started = await startCluster({
        port: await freePort(),
        workers: 2,
        postgresUrl: options.postgresUrl,
        temporalAddress: options.temporalAddress,
        env: { ...env, EVERTHREAD_TASK_QUEUE: 'dialogues-postgres' },
      });
      cluster = started;
      const killOne = async (): Promise<void> => {
        const victim = started.workers.shift();
        await victim?.end('SIGKILL');
        started.addWorker();
      };
      return { url: started.url, killOne };
    },
    stop: async () => cluster?.stop(),
  });
}

interface System {
  start(env: Record<string, string>): Promise<{ readonly url: string; killOne(): Promise<void> }>;
  stop(): Promise<unknown>;
}

async function run(options: DialogueRunOptions, system: System): Promise<DialogueRun> {
  const { dialogues, killEvery = Infinity } = options;
  const turns = turnCount(dialogues);
  const model = await startScriptedModel(fromDialogues(dialogues));
  try {
    const { url, killOne } = await system.start({
      EVERTHREAD_MODEL: 'openai:scripted',
      OPENAI_API_KEY: 'test',
      OPENAI_BASE_URL: model.url,
      LOG_LEVEL: 'warn',
    });
    const killing: Promise<void>[] = [];
    const onTurn = (done: number): void => {
      options.onTurn?.(done);
      if (done % killEvery === 0 && done < turns) killing.push(killOne());
    };
    const played = await playDialogues({ url, dialogues, atOnce, onTurn });
    await Promise.all(killing);
    const wrong = await compareHistories(url, dialogues);
    return { ...played, kills: killing.length, modelCalls: model.calls.length, wrong };
  } finally {
    await system.stop();
    await model.close();
  }
}
