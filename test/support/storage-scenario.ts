/** One thread on a storage, with the calls of gateway and worker as one-liners. */
import { randomUUID } from 'node:crypto';
import type { ThreadKey } from '../../contracts/protocol.js';
import type {
  Accepted,
  AcceptTurn,
  Claim,
  Claimed,
  ClaimedTurn,
  ClaimLimits,
  Holder,
  Settled,
  Settlement,
  Storage,
  TurnRecord,
} from '../../storage/port.js';
import type { FlushRows } from '../../storage/saver/port.js';

const generous: ClaimLimits = { turnTimeoutMs: 600_000, maxLosses: 10 };

export class Scenario {
  readonly thread: ThreadKey;
  readonly storage: Storage;
  /** Activity ids grow within a run, as Temporal's do. */
  private activity = 0;

  constructor(storage: Storage, thread: Partial<ThreadKey> = {}) {
    this.storage = storage;
    this.thread = { tenant: 'default', threadId: `thread-${randomUUID()}`, ...thread };
  }

  accept(more: Partial<AcceptTurn> = {}): Promise<Accepted> {
    return this.storage.turns.accept({
      thread: this.thread,
      turnId: randomUUID(),
      defaultGraph: 'agent',
      input: { kind: 'message', text: 'hello' },
      digest: 'v1:hello',
      multitask: 'enqueue',
      stream: false,
      maxPending: 50,
      ...more,
    });
  }

  /** Accepts and gives the turn. */
  async turn(more: Partial<AcceptTurn> = {}): Promise<TurnRecord> {
    const accepted = await this.accept(more);
    if (accepted.kind !== 'accepted') throw new Error(`not accepted: ${accepted.kind}`);
    return accepted.turn;
  }

  claim(holder: Partial<Holder> = {}, limits: Partial<ClaimLimits> = {}): Promise<Claimed> {
    return this.storage.claims.claim(
      { ...this.thread, store: this.storage.store },
      { runId: 'run-1', activityId: ++this.activity, attempt: 1, ...holder },
      { ...generous, ...limits },
    );
  }

  /** Claims and gives the claimed turn. */
  async claimed(
    holder: Partial<Holder> = {},
    limits: Partial<ClaimLimits> = {},
  ): Promise<ClaimedTurn> {
    const claimed = await this.claim(holder, limits);
    if (claimed.kind !== 'claimed') throw new Error(`not claimed: ${claimed.kind}`);
    return claimed.turn;
  }

  commit(claim: Claim, more: Partial<Reply> = {}, rows: FlushRows | null = null): Promise<Settled> {
    return this.storage.claims.settle(claim, reply(claim, more), rows);
  }

  /** A whole turn, from accept to commit. */
  async committed(more: Partial<AcceptTurn> = {}, with_: Partial<Reply> = {}): Promise<TurnRecord> {
    const { turnId } = await this.turn(more);
    const { claim } = await this.claimed();
    const settled = await this.commit(claim, with_);
    if (settled.kind !== 'settled') throw new Error(`not settled: ${settled.kind}`);
    return await this.get(turnId);
  }

  async get(turnId: string): Promise<TurnRecord> {
    const turn = await this.storage.turns.get(this.thread, turnId);
    if (turn === undefined) throw new Error(`no turn ${turnId}`);
    return turn;
  }

  async record() {
    const thread = await this.storage.threads.get(this.thread);
    if (thread === undefined) throw new Error('no thread');
    return thread;
  }
}

export type Reply = Exclude<Settlement, { readonly kind: 'failed' }>;

export const reply = (claim: Claim, more: Partial<Reply> = {}): Reply => ({
  kind: 'committed',
  checkpointId: `checkpoint-${claim.seq}`,
  response: `reply to ${claim.seq}`,
  messages: [
    { id: claim.turnId, role: 'user', content: 'hello' },
    { id: `ai-${claim.turnId}`, role: 'assistant', content: `reply to ${claim.seq}` },
  ],
  valuesJson: '{}',
  interrupts: [],
  next: [],
  ...more,
});

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A state of no channels. */
const emptyBody = JSON.stringify({ writer: 'test', frame: {}, inline: {}, rows: {} });

/** Rows of one checkpoint with one delta and one write of it. */
export function rowsAt(
  pos: number,
  more: Partial<FlushRows> & { readonly ns?: string } = {},
): FlushRows {
  const { ns = '', ...rest } = more;
  const checkpointId = `${ns}c${pos}`;
  return {
    checkpoints: [
      { ns, checkpointId, parentId: null, pos, body: bytes(emptyBody), metadata: bytes('meta') },
    ],
    deltas: [
      {
        ...{ ns, channel: 'messages', version: String(pos), base: null },
        ...{ keep: 0, length: 1, type: 'json', rest: bytes(`delta ${pos}`) },
      },
    ],
    writes: [
      {
        ...{ ns, checkpointId, taskId: 'task', taskPath: '', idx: 0 },
        ...{ channel: 'messages', type: 'json', value: bytes('write') },
      },
    ],
    superstep: null,
    ...rest,
  };
}

/** The rows of a finished root superstep. */
export const stepAt = (pos: number, finished: number): FlushRows =>
  rowsAt(pos, { superstep: { finished, ran: ['model'], next: ['tools'] } });
