/** LangGraph's own conformance suite for savers, on every backend. */
import { expect } from '@jest/globals';
import { deltaChannelHistoryTests, validate } from '@langchain/langgraph-checkpoint-validation';
import { postgresDriver } from '../../storage/driver-postgres.js';
import { sqliteDriver } from '../../storage/driver-sqlite.js';
import { migrate } from '../../storage/migrate.js';
import type { StorageKind } from '../../storage/port.js';
import type { Driver } from '../../storage/tx.js';
import { backends, emptyTarget } from '../support/database.js';
import { unfencedSaver } from '../support/unfenced-saver.js';

// The suite is written for vitest, whose soft expectations go on after a failure.
Object.assign(expect, { soft: expect });

for (const kind of backends) {
  let close: () => Promise<void> = () => Promise.resolve();
  let driver: Driver;
  const initializer = {
    checkpointerName: `saver on ${kind}`,
    beforeAllTimeout: 120_000,
    beforeAll: async () => {
      const opened = await openDriver(kind);
      ({ driver, close } = opened);
    },
    afterAll: () => close(),
    createCheckpointer: () => unfencedSaver(driver),
  };
  validate(initializer);
  deltaChannelHistoryTests(initializer);
}

async function openDriver(
  kind: StorageKind,
): Promise<{ readonly driver: Driver; readonly close: () => Promise<void> }> {
  const { target, remove } = await emptyTarget(kind);
  const driver =
    target.kind === 'postgres'
      ? await postgresDriver({ url: target.url, poolSize: target.poolSize })
      : sqliteDriver(target.kind === 'memory' ? ':memory:' : target.path);
  await migrate(driver);
  return {
    driver,
    close: async () => {
      await driver.close();
      await remove();
    },
  };
}
