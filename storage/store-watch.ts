/** Notices that the database under a running process has become another store (O4): a restore has given it a new id. */
import type { Storage } from './port.js';

/** The database was restored: everything that this process knows of it may be of a time that is lost. */
export class StoreReplaced extends Error {
  override readonly name = 'StoreReplaced';

  constructor() {
    super(
      'The database was restored and is another store now. This process ends; start it again to go on with the restored one.',
    );
  }
}

export interface StoreWatch {
  /** Rejects with StoreReplaced; never resolves. */
  readonly replaced: Promise<never>;
  stop(): void;
}

/** Claims of a lost time write nothing anyway (P4 by turn id and fence), so this need not be quicker. */
const everyMs = 2_000;

export function watchStore(storage: Pick<Storage, 'ping'>, lookEveryMs = everyMs): StoreWatch {
  let fail: (error: StoreReplaced) => void = () => undefined;
  const replaced = new Promise<never>((_, reject) => (fail = reject));
  replaced.catch(() => undefined); // whoever waits is told; nobody need wait
  const look = async (): Promise<void> => {
    try {
      await storage.ping();
    } catch (error) {
      // A database that does not answer is another matter: it heals.
      if (error instanceof StoreReplaced) fail(error);
    }
  };
  const timer = setInterval(() => void look(), lookEveryMs);
  timer.unref();
  return { replaced, stop: () => clearInterval(timer) };
}
