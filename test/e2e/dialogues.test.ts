import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { atOnce, dialoguesOnPostgres, dialoguesOnSqlite } from '../../bench/dialogue-runs.js';
import { loadDialogues, turnCount } from '../../bench/dialogues.js';
import { createPostgresDatabase } from '../support/database.js';
import { startTestTemporal } from '../support/temporal-server.js';

const dialogues = loadDialogues();
const turns = turnCount(dialogues);
/** Hundreds of turns and restarts take minutes on a busy machine; this only ends a run that hangs. */
const limitMs = 900_000;
const killEvery = 60;
const killsInAll = Math.ceil(turns / killEvery) - 1;

let temporal: Awaited<ReturnType<typeof startTestTemporal>>;
beforeAll(async () => {
  temporal = await startTestTemporal();
});
afterAll(() => temporal.stop());

describe(`${turns} turns of real dialogues over HTTP`, () => {
  test(
    'T1 C1 on SQLite in one process: every history equals its dialogue',
    async () => {
      const run = await dialoguesOnSqlite({ dialogues, temporalAddress: temporal.address });
      expect(run).toMatchObject({ turns, repeats: 0, modelCalls: turns, wrong: [] });
    },
    limitMs,
  );

  test(
    'T1 T2 C1 on PostgreSQL with two workers, one of them killed again and again',
    async () => {
      const database = await createPostgresDatabase();
      try {
        const run = await dialoguesOnPostgres({
          ...{ dialogues, killEvery },
          temporalAddress: temporal.address,
          postgresUrl: database.url,
        });
        expect(run).toMatchObject({ turns, kills: killsInAll, wrong: [] });
        // A lost worker costs at most the calls that it had in flight.
        expect(run.modelCalls).toBeLessThanOrEqual(turns + run.kills * atOnce);
      } finally {
        await database.drop();
      }
    },
    limitMs,
  );
});
