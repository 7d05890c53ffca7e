import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  compareHistories,
  loadDialogues,
  playDialogues,
  turnCount,
} from '../../bench/dialogues.js';
import { freePort } from '../../temporal/ports.js';
import { createPostgresDatabase } from '../support/database.js';
import { everthread, startCluster, untilReady } from '../support/processes.js';
import { fromDialogues } from '../support/scripted-answers.js';
import { startScriptedModel } from '../support/scripted-model.js';
import type { ScriptedModel } from '../support/scripted-model.js';
import { startTestTemporal } from '../support/temporal-server.js';

const dialogues = loadDialogues();
const turns = turnCount(dialogues);
/** How many dialogues at a time. */
const atOnce = 8;
/** Hundreds of turns and restarts take minutes on a busy machine; this only ends a run that hangs. */
const limitMs = 900_000;
/** A worker is killed at every this many turns, so that the nemesis keeps pace with the machine. */
const killEvery = 60;

let temporal: Awaited<ReturnType<typeof startTestTemporal>>;
let model: ScriptedModel;
let env: Record<string, string>;
beforeAll(async () => {
  temporal = await startTestTemporal();
});
afterAll(() => temporal.stop());

const withModel = async (): Promise<void> => {
  model = await startScriptedModel(fromDialogues(dialogues));
  env = {
    EVERTHREAD_MODEL: 'openai:scripted',
    OPENAI_API_KEY: 'test',
    OPENAI_BASE_URL: model.url,
    LOG_LEVEL: 'warn',
  };
};

describe(`${turns} turns of real dialogues over HTTP`, () => {
  test(
    'T1 C1 on SQLite in one process: every history equals its dialogue',
    async () => {
      await withModel();
      const data = await mkdtemp(path.join(tmpdir(), 'everthread-dialogues-'));
      const port = await freePort();
      const url = `http://127.0.0.1:${port}`;
      const dev = everthread(['dev'], {
        ...env,
        EVERTHREAD_DATA: data,
        PORT: String(port),
        TEMPORAL_ADDRESS: temporal.address,
        EVERTHREAD_TASK_QUEUE: 'dialogues-sqlite',
      });
      try {
        await untilReady(url, dev);
        const played = await playDialogues({ url, dialogues, atOnce });
        expect(played).toMatchObject({ turns, repeats: 0 });
        expect(await compareHistories(url, dialogues)).toEqual([]);
        expect(model.calls).toHaveLength(turns);
      } finally {
        await dev.end();
        await model.close();
        await rm(data, { recursive: true, force: true });
      }
    },
    limitMs,
  );

  test(
    'T1 T2 C1 on PostgreSQL with two workers, one of them killed again and again',
    async () => {
      await withModel();
      const database = await createPostgresDatabase();
      const cluster = await startCluster({
        port: await freePort(),
        workers: 2,
        postgresUrl: database.url,
        temporalAddress: temporal.address,
        env: { ...env, EVERTHREAD_TASK_QUEUE: 'dialogues-postgres' },
      });
      let kills = 0;
      const killOne = async (): Promise<void> => {
        const victim = cluster.workers.shift();
        await victim?.end('SIGKILL');
        kills += 1;
        cluster.addWorker();
      };
      try {
        const { url } = cluster;
        const kill = (done: number): void => {
          if (done % killEvery === 0 && done < turns) void killOne();
        };
        const played = await playDialogues({ url, dialogues, atOnce, onTurn: kill });
        expect(played.turns).toBe(turns);
        expect(kills).toBe(Math.ceil(turns / killEvery) - 1);
        expect(await compareHistories(url, dialogues)).toEqual([]);
        // A lost worker costs at most the calls that it had in flight.
        expect(model.calls.length).toBeLessThanOrEqual(turns + kills * atOnce);
      } finally {
        await cluster.stop();
        await model.close();
        await database.drop();
      }
    },
    limitMs,
  );
});
