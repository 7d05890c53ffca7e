import { afterAll, beforeAll } from '@jest/globals';
import type { StorageKind } from '../../storage/port.js';
import { openDriver } from './database.js';

type Opened = Awaited<ReturnType<typeof openDriver>>;

/** In a `describe`: a database of its own, which is there while its tests run. */
export function databaseInTests(kind: StorageKind): Pick<Opened, 'storage' | 'driver'> {
  let opened: Opened;
  beforeAll(async () => {
    opened = await openDriver(kind);
  });
  afterAll(() => opened.close());
  return {
    get storage() {
      return opened.storage;
    },
    get driver() {
      return opened.driver;
    },
  };
}
