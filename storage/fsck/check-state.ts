/** Can the stored state be read? Every version that a checkpoint names is there, down to the whole list, and the head decodes. */
import type { ThreadKey } from '../../contracts/protocol.js';
import { toText } from '../saver/pack.js';
import { readCheckpoint, type Body } from '../saver/rows.js';
import { valuesOf } from '../saver/state-view.js';
import type { ThreadRow } from '../thread-row.js';
import { query, type Tx } from '../tx.js';
import { broken, onlyBackup, type Finding } from './finding.js';

/** Bodies read at once: some kilobytes each. */
const bodiesPerPage = 200;

interface Link {
  readonly ns: string;
  readonly channel: string;
  readonly version: string;
  readonly seq: number;
  readonly base: string | null;
  /** Of the elements of `base`. */
  readonly keep: number;
  readonly length: number;
}

export function* checkState(
  thread: ThreadKey,
  row: Pick<ThreadRow, 'epoch' | 'head_checkpoint' | 'head_seq'>,
): Tx<readonly Finding[]> {
  const { tenant, threadId } = thread;
  const links = yield* query<Link>(
    `SELECT ns, channel, version, seq, base, keep, length FROM et_deltas WHERE tenant = $1 AND thread_id = $2 AND epoch = $3`,
    ...[tenant, threadId, row.epoch],
  );
  const chains = chainsOf(links);
  const found: Finding[] = [];
  const report = (seq: number, what: string): void => {
    found.push(broken('state_broken', { thread, epoch: row.epoch, seq }, what, onlyBackup));
  };
  for (let after = -1; ;) {
    const page = yield* readBodies(thread, row.epoch, after);
    for (const { ns, checkpoint_id, seq, body } of page) {
      const missing = missingIn(chains, { ns, seq }, bodyOf(body));
      if (missing !== undefined) report(seq, `Checkpoint ${checkpoint_id} ${missing}.`);
    }
    const last = page.at(-1);
    if (last === undefined) break;
    after = last.pos;
  }
  const wrong = yield* headTrouble(thread, row);
  if (wrong !== undefined && row.head_seq !== null) report(row.head_seq, wrong);
  return found;
}

interface BodyRow {
  readonly ns: string;
  readonly checkpoint_id: string;
  readonly seq: number;
  readonly pos: number;
  readonly body: Uint8Array;
}

/** Whole positions: a page may be longer than asked for when namespaces share one. */
const readBodies = (thread: ThreadKey, epoch: number, after: number): Tx<readonly BodyRow[]> =>
  query<BodyRow>(
    `SELECT ns, checkpoint_id, seq, pos, body FROM et_checkpoints
     WHERE tenant = $1 AND thread_id = $2 AND epoch = $3 AND pos > $4 AND pos <= (SELECT max(pos) FROM
       (SELECT pos FROM et_checkpoints WHERE tenant = $1 AND thread_id = $2 AND epoch = $3 AND pos > $4
        ORDER BY pos LIMIT $5) next) ORDER BY pos`,
    ...[thread.tenant, thread.threadId, epoch, after, bodiesPerPage],
  );

/** Undefined when it is no JSON of ours. */
function bodyOf(bytes: Uint8Array): Body | undefined {
  try {
    return JSON.parse(toText(bytes)) as Body;
  } catch {
    return undefined;
  }
}

type Chains = (
  place: { readonly ns: string; readonly seq: number },
  channel: string,
  version: string,
) => boolean;

/** Whether a version can be followed to the list that it began with, and each link is the one meant. Each is walked once. */
function chainsOf(links: readonly Link[]): Chains {
  const idOf = (ns: string, channel: string, version: string): string =>
    JSON.stringify([ns, channel, version]);
  const byId = new Map(links.map((link) => [idOf(link.ns, link.channel, link.version), link]));
  const known = new Map<string, boolean>();
  return ({ ns, seq }, channel, version) => {
    const walked: string[] = [];
    let whole: boolean | undefined;
    let above: Pick<Link, 'seq' | 'keep'> = { seq, keep: 0 };
    for (let at: string | null = version; whole === undefined;) {
      if (at === null) {
        whole = true;
        break;
      }
      const id = idOf(ns, channel, at);
      walked.push(id);
      const link = byId.get(id);
      if (link === undefined || walked.length > links.length) whole = false;
      else if (!isMeant(link, above)) {
        walked.pop(); // what is said of the link itself stands: only the way to it is broken
        whole = false;
      } else {
        whole = known.get(id);
        [at, above] = [link.base, link];
      }
    }
    for (const id of walked) known.set(id, whole);
    return whole;
  };
}

/** A row is written once: one that is younger than what stands on it, or shorter, was written over. */
const isMeant = (link: Link, above: Pick<Link, 'seq' | 'keep'>): boolean =>
  link.seq <= above.seq && link.length >= above.keep;

function missingIn(
  chains: Chains,
  place: Parameters<Chains>[0],
  body: Body | undefined,
): string | undefined {
  if (body === undefined) return 'cannot be decoded';
  const lost = Object.entries(body.rows).find(
    ([channel, version]) => !chains(place, channel, version),
  );
  return (
    lost &&
    `names version ${lost[1]} of channel "${lost[0]}", which is not complete or was written over`
  );
}

/** Decodes the head as a reader would. */
function* headTrouble(
  thread: ThreadKey,
  { epoch, head_checkpoint: checkpointId, head_seq: seq }: Parameters<typeof checkState>[1],
): Tx<string | undefined> {
  if (checkpointId === null || seq === null) return undefined;
  try {
    const view = { thread, epoch, headSeq: seq, ownSeq: -1 };
    const stored = yield* readCheckpoint(view, '', checkpointId);
    if (stored === undefined) return `The head's checkpoint ${checkpointId} is not there.`;
    valuesOf(stored);
    return undefined;
  } catch (error) {
    // A statement that fails is not damage: only what decoding itself says is.
    if (!(error instanceof SyntaxError) && !isMissing(error)) throw error;
    return `The head's checkpoint ${checkpointId} cannot be decoded.`;
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && error.message.startsWith('the stored state misses');
