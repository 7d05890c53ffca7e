/**
 * The fault port: storage and Temporal client that fail as the real ones do, by a seed. `before` is not executed and told
 * failed; `after` is executed and told failed, which is what a cut connection looks like.
 */
import type { Waker } from '../../contracts/waker.js';
import { CommitUnknown, StorageUnavailable, type Storage } from '../../storage/port.js';

export interface FaultRates {
  readonly before: number;
  readonly after: number;
}

export interface Faults {
  /** Runs the call, or only pretends to, or pretends that it failed. */
  around<T>(call: () => Promise<T>, errors: FaultErrors): Promise<T>;
  /** No more faults from now on. */
  end(): void;
  /** How many of each there were. */
  readonly counts: { before: number; after: number };
}

interface FaultErrors {
  readonly before: () => Error;
  readonly after: () => Error;
}

/** @param next gives numbers in [0, 1) that a seed decides */
export function faultsAt(rates: FaultRates, next: () => number): Faults {
  const counts = { before: 0, after: 0 };
  let ended = false;
  return {
    counts,
    end: () => {
      ended = true;
    },
    async around(call, errors) {
      const dice = ended ? 1 : next();
      if (dice < rates.before) {
        counts.before += 1;
        throw errors.before();
      }
      const result = await call();
      if (dice >= rates.before + rates.after) return result;
      counts.after += 1;
      throw errors.after();
    },
  };
}

const down = (): Error => new StorageUnavailable('a fault of the test: nothing was done');
/** A transaction that wrote: its COMMIT was sent, and the answer did not come. */
const write: FaultErrors = {
  before: down,
  after: () => new CommitUnknown('a fault of the test: it was done'),
};
/** What was read is lost with the connection. */
const read: FaultErrors = { before: down, after: down };

/** The storage with faults around every method. */
export function faultyStorage(storage: Storage, faults: Faults): Storage {
  const group = <G extends object>(methods: G, reads: readonly (keyof G)[]): G =>
    new Proxy(methods, {
      get(target, name) {
        const found: unknown = Reflect.get(target, name);
        if (typeof found !== 'function') return found;
        const errors = reads.includes(name as keyof G) ? read : write;
        return (...args: unknown[]) =>
          faults.around(async () => (await Reflect.apply(found, target, args)) as unknown, errors);
      },
    });
  return {
    ...storage,
    turns: group(storage.turns, ['get', 'peek']),
    threads: group(storage.threads, ['get', 'messages', 'state', 'history']),
    claims: group(storage.claims, ['look']),
    openAttempt: (options) => faults.around(() => storage.openAttempt(options), read),
  };
}

/** As the gRPC client says that it has no connection, or lost it. */
const noTemporal = (): Error =>
  Object.assign(new Error('14 UNAVAILABLE: a fault of the test'), { code: 14 });

/** The Temporal client with faults: a wake that is lost, and one that is delivered and told failed. */
export const faultyWaker = (waker: Waker, faults: Faults): Waker => ({
  wake: (turn, options) =>
    faults.around(() => waker.wake(turn, options), { before: noTemporal, after: noTemporal }),
});
