/** A gateway on a free port over a real database; the worker's side is played by claiming and settling turns. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { pino } from 'pino';
import { createApp } from '../../api/app.js';
import { defaultSettings, identifyEverybody, type GatewayDeps } from '../../api/deps.js';
import { listen, type ArrivalLimits } from '../../api/server.js';
import type { TurnWake, Waker } from '../../contracts/waker.js';
import type { FrameBody, Relay } from '../../contracts/frames.js';
import { openStorage } from '../../storage/open.js';
import type { Claim, ClaimedTurn, Settled, Settlement, Storage } from '../../storage/port.js';
import { localRelay } from '../../storage/relay-local.js';

/** What tests read of an answer by name; a wrong guess fails the expectation. */
export interface Json {
  readonly [name: string]: unknown;
  readonly thread_id: string;
  readonly turn_id: string;
  readonly code: string;
  readonly text: string;
}
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly raw: string;
  readonly json: Json;
}
export interface Seen {
  readonly event: string;
  readonly id: string | undefined;
  readonly json: Json;
}

export type Gateway = Awaited<ReturnType<typeof startGateway>>;

export interface Options {
  readonly kind?: 'memory' | 'sqlite';
  readonly relay?: Relay;
  /** Plays the worker when a turn is woken; the default answers `you said: …` at once. */
  readonly work?: (worker: Worker) => Promise<void>;
  readonly deps?: Partial<GatewayDeps>;
  readonly settings?: Partial<GatewayDeps['settings']>;
  readonly limits?: ArrivalLimits;
}

export async function startGateway(options: Options = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), 'everthread-api-'));
  const storage = await openStorage(
    options.kind === 'memory'
      ? { kind: 'memory' }
      : { kind: 'sqlite', path: path.join(folder, 'test.db') },
    { autoMigrate: true },
  );
  const relay = options.relay ?? localRelay();
  const wakes: (TurnWake & { start: boolean })[] = [];
  const logged: string[] = [];
  const work = options.work ?? echo;
  const wake: Waker = {
    async wake(turn, { start }) {
      wakes.push({ ...turn, start });
      if (start) void workerOn(storage, relay, turn).then(work, unlessIdle);
      return Promise.resolve();
    },
  };
  const closing = new AbortController();
  const app = createApp({
    storage,
    relay,
    wake,
    graphs: { names: ['agent', 'other'], default: 'agent' },
    log: pino({ level: 'info' }, { write: (line: string) => void logged.push(line) }),
    identify: identifyEverybody,
    ready: () => Promise.resolve([]),
    closing: closing.signal,
    ...options.deps,
    settings: { ...defaultSettings, pollMs: 50, ...options.settings },
  });
  const server = await listen(app, {
    ...{ host: '127.0.0.1', port: 0, closing },
    ...(options.limits && { limits: options.limits }),
  });
  const url = server.url;
  return {
    ...{ url, port: server.port, storage, relay, wakes, logged, server },
    post: (route: string, body: unknown, headers: Record<string, string> = {}) =>
      ask(url + route, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
      }),
    get: (route: string, headers: Record<string, string> = {}) => ask(url + route, { headers }),
    delete: (route: string) => ask(url + route, { method: 'DELETE' }),
    stream: (route: string, body: unknown, headers: Record<string, string> = {}) =>
      openStream(url + route, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers },
        body: JSON.stringify(body),
      }),
    join: (route: string, headers: Record<string, string> = {}) =>
      openStream(url + route, { headers: { accept: 'text/event-stream', ...headers } }),
    close: async () => {
      await server.close();
      await storage.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A wake may be repeated (P2): one that comes when the turn is settled finds nothing to do. */
function unlessIdle(error: unknown): void {
  if (!(error instanceof Error) || error.message !== 'nothing to claim: idle') throw error;
}

async function ask(url: string, init: RequestInit): Promise<Answer> {
  const res = await fetch(url, init);
  const raw = await res.text();
  return { status: res.status, headers: res.headers, raw, json: parsed(raw) };
}

const parsed = (raw: string): Json => {
  try {
    return JSON.parse(raw) as Json;
  } catch {
    return { thread_id: '', turn_id: '', code: '', text: '' };
  }
};

export interface Stream {
  readonly status: number;
  readonly headers: Headers;
  readonly events: readonly Seen[];
  /** Waits until an event of that name has come, or the n-th of them. */
  until(event: string, count?: number): Promise<Seen>;
  /** Waits for the end and gives all events. */
  rest(): Promise<readonly Seen[]>;
  leave(): void;
}

async function openStream(url: string, init: RequestInit): Promise<Stream> {
  const leave = new AbortController();
  const res = await fetch(url, { ...init, signal: leave.signal });
  const events: Seen[] = [];
  let ended = false;
  let tell = (): void => undefined;
  const read = async (): Promise<void> => {
    if (!res.body) return;
    const parsing = res.body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream());
    for await (const { event, id, data } of parsing) {
      events.push({ event: event ?? 'message', id, json: JSON.parse(data) as Json });
      tell();
    }
  };
  const reading = read()
    .catch(() => undefined)
    .finally(() => {
      ended = true;
      tell();
    });
  return {
    status: res.status,
    headers: res.headers,
    events,
    async until(event, count = 1) {
      for (;;) {
        const found = events.filter((e) => e.event === event)[count - 1];
        if (found !== undefined) return found;
        if (ended) throw new Error(`no ${event} came: ${events.map((e) => e.event).join(' ')}`);
        await new Promise<void>((resolve) => (tell = resolve));
      }
    },
    async rest() {
      await reading;
      return events;
    },
    leave: () => leave.abort(),
  };
}

/** The text a client shows: `snapshot` replaces, `token` appends, `reset` clears. */
export const shownText = (events: readonly Seen[]): string =>
  events.reduce((text, { event, json }) => {
    if (event === 'snapshot') return json.text;
    if (event === 'reset') return '';
    return event === 'token' ? text + json.text : text;
  }, '');

export interface Worker {
  readonly turn: ClaimedTurn;
  readonly claim: Claim;
  readonly said: string;
  /** Publishes a frame of this attempt; `step` counts finished supersteps. */
  emit(body: FrameBody, step?: number): void;
  token(text: string, step?: number): void;
  reply(text: string): Promise<Settled>;
  settle(settlement: Settlement): Promise<Settled>;
  wake(): void;
}

let runs = 0;

/** Claims the thread's earliest unsettled turn, as a worker of its own. */
export async function workerOn(
  storage: Storage,
  relay: Relay,
  { thread }: Pick<TurnWake, 'thread'>,
): Promise<Worker> {
  const claimed = await storage.claims.claim(
    { ...thread, store: storage.store },
    { runId: `run-${String(++runs)}`, activityId: 1, attempt: 1 },
    { turnTimeoutMs: 60_000, maxLosses: 10 },
  );
  if (claimed.kind !== 'claimed') throw new Error(`nothing to claim: ${claimed.kind}`);
  const { turn } = claimed;
  const { claim } = turn;
  let seq = 0;
  const emit = (body: FrameBody, step = turn.step): void => {
    seq += 1;
    relay.publish([{ ...body, turn: claim.turnId, fence: claim.fence, step, seq }]);
  };
  const wake = (): void => emit({ kind: 'wake', data: null });
  const settle = async (settlement: Settlement): Promise<Settled> => {
    const settled = await storage.claims.settle(claim, settlement, null);
    wake();
    return settled;
  };
  const { input } = turn;
  const said =
    input.kind === 'message' ? input.text : JSON.stringify('value' in input ? input.value : null);
  return {
    ...{ turn, claim, said, emit, wake, settle },
    token: (text, step) => emit({ kind: 'token', data: { message_id: 'm1', text } }, step),
    reply: (text) => settle(committed(claim, said, text)),
  };
}

export const committed = (claim: Claim, said: string, text: string): Settlement => ({
  kind: 'committed',
  checkpointId: `checkpoint-${claim.seq}`,
  response: text,
  messages: [
    { id: claim.turnId, role: 'user', content: said },
    { id: `reply-${claim.turnId}`, role: 'assistant', content: text },
  ],
  valuesJson: '{"n":1}',
  interrupts: [],
  next: [],
});

export const echo = async (worker: Worker): Promise<void> => {
  await worker.reply(`you said: ${worker.said}`);
};

/** Workers that wait for the test to play them: `work` goes to the gateway, `next` gives them in the order of their claims. */
export function playedWorkers(): {
  readonly work: (worker: Worker) => Promise<void>;
  next(): Promise<Worker>;
} {
  const ready: Worker[] = [];
  const waiting: ((worker: Worker) => void)[] = [];
  return {
    work: (worker) => {
      const taker = waiting.shift();
      if (taker === undefined) ready.push(worker);
      else taker(worker);
      return Promise.resolve();
    },
    next: () => {
      const worker = ready.shift();
      return worker === undefined
        ? new Promise((resolve) => waiting.push(resolve))
        : Promise.resolve(worker);
    },
  };
}
