/** What happens to the cast while the dialogues are played, and what must hold afterwards. */
import { once } from 'node:events';
import { onPostgres } from '../../test/support/database.js';
import { everthread } from '../../test/support/processes.js';
import { addReplicas } from './services.js';
import type { Cast, Replica } from './services.js';

/** One thing that an operator or a fault does while turns run. */
export interface Happening {
  /** Begins when this share of the turns is answered. */
  readonly afterShare: number;
  readonly what: string;
  /** @returns what went wrong */
  readonly happen: (cast: Cast) => Promise<readonly string[]>;
}

export const happenings: readonly Happening[] = [
  { afterShare: 0.05, what: 'one more worker (--scale worker=3)', happen: addWorker },
  { afterShare: 0.15, what: 'kill -9 of a worker, and its restart', happen: killWorker },
  {
    afterShare: 0.25,
    what: 'rolling restart of the gateways',
    happen: (cast) => rollingRestart(cast, 'gateway'),
  },
  {
    afterShare: 0.4,
    what: 'rolling restart of the workers',
    happen: (cast) => rollingRestart(cast, 'worker'),
  },
];

export const replicasOf = (cast: Cast, service: string): Replica[] =>
  cast.replicas.filter((replica) => replica.service.name === service);

/** Another takes its place, as a restart policy would have it. */
async function killWorker(cast: Cast): Promise<readonly string[]> {
  const [victim] = replicasOf(cast, 'worker');
  if (victim === undefined) return ['no worker to kill'];
  await victim.proc()?.end('SIGKILL');
  await victim.start();
  return [];
}

async function addWorker(cast: Cast): Promise<readonly string[]> {
  const [first] = replicasOf(cast, 'worker');
  if (first === undefined) return ['no worker to copy'];
  await addReplicas(cast, first.service, 1);
  return [];
}

/** One after the other: SIGTERM, the drain, the start of the next build. @returns who did not end cleanly */
async function rollingRestart(cast: Cast, service: string): Promise<readonly string[]> {
  const unclean: string[] = [];
  for (const replica of replicasOf(cast, service)) {
    const proc = replica.proc();
    await proc?.end('SIGTERM');
    const code = proc?.child.exitCode;
    if (code !== 0) unclean.push(`${replica.name} ended with ${code ?? 'a signal'}`);
    await replica.start();
  }
  return unclean;
}

/** Every turn committed, versions dense in the order of seq, none too many. */
export async function brokenTurns(url: string, turns: number): Promise<readonly string[]> {
  interface Row {
    readonly thread_id: string;
    readonly seq: number;
    readonly status: string;
    readonly version: number | null;
  }
  const rows = await onPostgres(url, async (client) => {
    const { rows } = await client.query<Row>(
      'SELECT thread_id, seq::int, status, version::int FROM et_turns ORDER BY thread_id, seq',
    );
    return rows;
  });
  const broken = rows.length === turns ? [] : [`${rows.length} turns in the database`];
  const counts = new Map<string, number>();
  for (const { thread_id: thread, seq, status, version } of rows) {
    const nth = (counts.get(thread) ?? 0) + 1;
    counts.set(thread, nth);
    if (status !== 'committed' || version !== nth)
      broken.push(`${thread} seq ${seq}: ${status}, version ${version ?? 'none'} and not ${nth}`);
  }
  return broken;
}

/** @returns what `everthread fsck` finds wrong */
export async function fsckFindings(
  url: string,
  temporal: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const proc = everthread(['fsck'], { EVERTHREAD_POSTGRES_URL: url, ...temporal });
  if (proc.alive()) await once(proc.child, 'exit');
  return proc.child.exitCode === 0 ? [] : [`fsck: ${proc.log().trim()}`];
}
