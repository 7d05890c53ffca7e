/** Walks all threads of a store: checks, asks Temporal about turns that should be running, repairs, and looks again. */
import type { ThreadKey } from '../contracts/protocol.js';
import type { TurnWake } from '../contracts/waker.js';
import { broken, type Finding } from '../storage/fsck/finding.js';
import type { OpenTurn } from '../storage/fsck/open-turn.js';
import type { OperatorStore } from '../storage/operator-store.js';

/** Temporal as a check needs it. */
export interface TemporalSide {
  isOpen(thread: ThreadKey): Promise<boolean>;
  wake(turn: TurnWake): Promise<void>;
}

export interface Walk {
  readonly store: OperatorStore;
  /** Undefined: whether turns are being run is not checked. */
  readonly temporal?: TemporalSide;
  readonly repair: boolean;
}

export interface Walked {
  readonly threads: number;
  /** What was found; with `repair`, what is left. */
  readonly findings: readonly Finding[];
  /** What was found and is found no longer. */
  readonly repaired: readonly Finding[];
}

/** The sweeper signals a forgotten turn after 30 s and looks each 5 s: only what it has missed is a finding. */
const forgottenMs = 60_000;
/** One thread is a dozen small queries; a few at once hide their round trips and leave the database to its users. */
const threadsAtOnce = 4;

export async function walkStore(walk: Walk): Promise<Walked> {
  const findings: Finding[] = [...(await walk.store.checkStore())];
  const repaired: Finding[] = [];
  let threads = 0;
  for await (const page of walk.store.threads()) {
    threads += page.length;
    for (let from = 0; from < page.length; from += threadsAtOnce) {
      const some = page.slice(from, from + threadsAtOnce);
      for (const one of await Promise.all(some.map((thread) => checkOne(walk, thread)))) {
        findings.push(...one.findings);
        repaired.push(...one.repaired);
      }
    }
  }
  return { threads, findings, repaired };
}

type One = Pick<Walked, 'findings' | 'repaired'>;

async function checkOne(walk: Walk, thread: ThreadKey): Promise<One> {
  const before = await findingsOf(walk, thread);
  if (!walk.repair || before.every(({ repair }) => repair === null)) {
    return { findings: before, repaired: [] };
  }
  if (before.some(({ code, repair }) => repair !== null && code !== 'turn_not_running')) {
    await walk.store.repairThread(thread);
  }
  await wakeForgotten(walk, thread, before);
  const after = await walk.store.checkThread(thread);
  const left = new Set(after.map(idOf));
  return { findings: after, repaired: before.filter((finding) => !left.has(idOf(finding))) };
}

const idOf = ({ code, epoch, seq, what }: Finding): string =>
  JSON.stringify([code, epoch, seq, what]);

async function findingsOf(walk: Walk, thread: ThreadKey): Promise<readonly Finding[]> {
  const found = await walk.store.checkThread(thread);
  const forgotten = await forgottenTurn(walk, thread);
  return forgotten === undefined ? found : [...found, notRunning(thread, forgotten)];
}

/** A turn that nobody runs, seen before and after asking Temporal: what moved meanwhile is alive. */
async function forgottenTurn(
  { store, temporal }: Walk,
  thread: ThreadKey,
): Promise<OpenTurn | undefined> {
  if (temporal === undefined) return undefined;
  const before = await store.openTurn(thread);
  if (before === undefined || before.silentMs < forgottenMs) return undefined;
  if (await temporal.isOpen(thread)) return undefined;
  const after = await store.openTurn(thread);
  return after?.turnId === before.turnId && after.fence === before.fence ? after : undefined;
}

const notRunning = (thread: ThreadKey, { turnId, seq, epoch }: OpenTurn): Finding =>
  broken(
    'turn_not_running',
    { thread, turnId, seq, epoch },
    'The turn is not settled, and no workflow runs for its thread.',
    { repair: 'signals the thread again' },
  );

async function wakeForgotten(
  { store, temporal }: Walk,
  thread: ThreadKey,
  found: readonly Finding[],
): Promise<void> {
  if (temporal === undefined || !found.some(({ code }) => code === 'turn_not_running')) return;
  const turn = await store.openTurn(thread);
  if (turn === undefined) return;
  const { turnId, seq, graph } = turn;
  await temporal.wake({ thread, turnId, seq, graph });
}
