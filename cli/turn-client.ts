/** A client of the gateway's HTTP API: turns with their events, across broken connections. Knows nothing of terminals. */
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type {
  Problem,
  TranscriptMessage,
  TurnInterrupt,
  TurnReply,
  TurnRequest,
} from '../contracts/http.schema.js';

export type TurnEvent =
  | {
      readonly event: 'accepted';
      readonly data: { readonly thread_id: string; readonly turn_id: string };
    }
  /** All text of the turn so far: it replaces what was shown. */
  | { readonly event: 'snapshot'; readonly data: { readonly text: string } }
  | {
      readonly event: 'token';
      readonly data: { readonly message_id?: string; readonly text: string };
    }
  | { readonly event: 'custom'; readonly data: unknown }
  | { readonly event: 'step'; readonly data: unknown }
  /** What was shown of this superstep is void. */
  | { readonly event: 'reset'; readonly data: unknown }
  | { readonly event: 'done'; readonly data: TurnReply }
  | { readonly event: 'error'; readonly data: Problem };

/** What the gateway answered instead of doing what was asked. */
export class GatewayProblem extends Error {
  override readonly name = 'GatewayProblem';
  readonly problem: Problem;
  constructor(problem: Problem) {
    super(problem.detail ?? problem.title);
    this.problem = problem;
  }
}

/** Nobody answers at this address. */
export class GatewayUnreachable extends Error {
  override readonly name = 'GatewayUnreachable';
}

interface ThreadView {
  /** `busy` while a turn is not settled, `interrupted` when the next turn is to answer `interrupts`. */
  readonly status: 'idle' | 'busy' | 'interrupted';
  readonly interrupts?: readonly TurnInterrupt[];
}

interface TurnOptions {
  /** Stops following; the turn itself goes on. */
  readonly signal: AbortSignal;
  /** Told each time that the connection is lost and will be tried again. */
  readonly onLost: () => void;
}

export interface TurnClient {
  /** @throws {GatewayUnreachable} */
  check(): Promise<void>;
  /** Undefined when there is no such thread yet. */
  thread(threadId: string): Promise<ThreadView | undefined>;
  /** Committed messages, oldest first. */
  messages(threadId: string): AsyncGenerator<TranscriptMessage>;
  /**
   * Sends a turn and gives its events to the end, or until `signal` aborts. A broken connection is taken up again:
   * before the turn is accepted by its key, afterwards by its id.
   * @throws {GatewayProblem} when it is refused; {GatewayUnreachable} when nobody has answered for two minutes
   */
  run(threadId: string, turn: TurnRequest, options: TurnOptions): AsyncGenerator<TurnEvent>;
  cancel(threadId: string, turnId: string): Promise<void>;
}

/** A restarting gateway is back sooner; a person does not wait longer. */
const giveUpAfterMs = 120_000;
const leastPauseMs = 250;
const mostPauseMs = 5_000;

export function createTurnClient(baseUrl: string): TurnClient {
  const base = baseUrl.replace(/\/+$/, '');
  const threadUrl = (id: string): string => `${base}/v1/threads/${encodeURIComponent(id)}`;
  const get = async (url: string): Promise<unknown> => json(await request(url, {}));

  return {
    async check() {
      await request(`${base}/healthz`, {});
    },
    async thread(threadId) {
      try {
        return (await get(threadUrl(threadId))) as ThreadView;
      } catch (error) {
        if (error instanceof GatewayProblem && error.problem.status === 404) return undefined;
        throw error;
      }
    },
    async *messages(threadId) {
      let query = '?limit=200';
      for (;;) {
        const page = (await get(`${threadUrl(threadId)}/messages${query}`)) as MessagesPage;
        yield* page.messages;
        if (page.next_cursor == null) return;
        query = `?limit=200&after=${encodeURIComponent(page.next_cursor)}`;
      }
    },
    run: (threadId, turn, options) => followTurn(threadUrl(threadId), turn, options),
    async cancel(threadId, turnId) {
      await request(`${threadUrl(threadId)}/turns/${turnId}/cancel`, { method: 'POST' });
    },
  };
}

interface MessagesPage {
  readonly messages: readonly TranscriptMessage[];
  readonly next_cursor?: string | null;
}

/** What following a turn has learnt so far. */
interface Followed {
  turnId: string | undefined;
  lastEventId: string | undefined;
  /** A backend without keys cannot take the same turn twice and notice. */
  keys: boolean;
  lostSinceMs: number | undefined;
  pauseMs: number;
}

async function* followTurn(
  threadUrl: string,
  turn: TurnRequest,
  { signal, onLost }: TurnOptions,
): AsyncGenerator<TurnEvent> {
  const key = randomUUID();
  const followed: Followed = {
    turnId: undefined,
    lastEventId: undefined,
    keys: true,
    lostSinceMs: undefined,
    pauseMs: leastPauseMs,
  };
  for (;;) {
    let lost: unknown;
    try {
      const response = await (followed.turnId === undefined
        ? postTurn(threadUrl, turn, { signal, key: followed.keys ? key : undefined })
        : joinTurn(`${threadUrl}/turns/${followed.turnId}/stream`, followed.lastEventId, signal));
      for await (const event of eventsOf(response, followed)) {
        yield event;
        if (event.event === 'done' || event.event === 'error') return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (followed.keys && isProblem(error, 'idempotency_unsupported')) {
        followed.keys = false;
        continue;
      }
      lost = error;
    }
    refuseToTryAgain(lost, followed);
    onLost();
    await backOff(followed, signal);
    if (signal.aborted) return;
  }
}

function postTurn(
  threadUrl: string,
  turn: TurnRequest,
  { signal, key }: { readonly signal: AbortSignal; readonly key: string | undefined },
): Promise<Response> {
  return request(`${threadUrl}/turns`, {
    method: 'POST',
    signal,
    headers: {
      accept: 'text/event-stream',
      'content-type': 'application/json',
      ...(key !== undefined && { 'idempotency-key': key }),
    },
    body: JSON.stringify(turn),
  });
}

const joinTurn = (url: string, lastEventId: string | undefined, signal: AbortSignal) =>
  request(url, {
    signal,
    headers: {
      accept: 'text/event-stream',
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    },
  });

/** The events of one response, also of one that was answered as JSON (202 when Temporal is down, a replay). */
async function* eventsOf(response: Response, followed: Followed): AsyncGenerator<TurnEvent> {
  if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) {
    const reply = (await json(response)) as TurnReply;
    followed.turnId = reply.turn_id;
    if (reply.status === 'committed' || reply.status === 'interrupted')
      yield { event: 'done', data: reply };
    return;
  }
  if (response.body === null) return;
  const messages = response.body
    .pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>)
    .pipeThrough(new EventSourceParserStream());
  for await (const { event, id, data } of messages) {
    if (id !== undefined) followed.lastEventId = id;
    if (event === undefined || !eventNames.has(event)) continue;
    const read = { event, data: JSON.parse(data) as unknown } as TurnEvent;
    if (read.event === 'accepted') followed.turnId = read.data.turn_id;
    followed.lostSinceMs = undefined;
    followed.pauseMs = leastPauseMs;
    yield read;
  }
}

const eventNames = new Set<string>([
  'accepted',
  'snapshot',
  'token',
  'custom',
  'step',
  'reset',
  'done',
  'error',
] satisfies TurnEvent['event'][]);

/** Throws unless the connection was merely lost, or the gateway is not ready, and trying again cannot start the turn twice. */
function refuseToTryAgain(error: unknown, { turnId, keys, lostSinceMs }: Followed): void {
  if (error instanceof GatewayProblem && error.problem.status !== 503) throw error;
  if (error instanceof SyntaxError)
    throw new Error('What answers there does not speak as a gateway does.', { cause: error });
  if (turnId === undefined && !keys) {
    throw new GatewayUnreachable(
      'The connection broke before the gateway said that it has the turn. Look at the thread before you send it again.',
      { cause: error },
    );
  }
  if (lostSinceMs !== undefined && Date.now() - lostSinceMs > giveUpAfterMs)
    throw new GatewayUnreachable('The gateway has been away for too long.', { cause: error });
}

async function backOff(followed: Followed, signal: AbortSignal): Promise<void> {
  followed.lostSinceMs ??= Date.now();
  await pause(followed.pauseMs, undefined, { signal }).catch(() => undefined);
  followed.pauseMs = Math.min(followed.pauseMs * 2, mostPauseMs);
}

const isProblem = (error: unknown, code: string): boolean =>
  error instanceof GatewayProblem && error.problem.code === code;

/** @throws {GatewayProblem} for every answer but 2xx, {GatewayUnreachable} for none */
async function request(url: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, init);
  } catch (error) {
    if (init.signal?.aborted === true) throw error;
    throw new GatewayUnreachable(`No gateway answers at ${new URL(url).origin}.`, { cause: error });
  }
  if (!response.ok) throw new GatewayProblem(await problemOf(response));
  return response;
}

async function problemOf(response: Response): Promise<Problem> {
  const { status, statusText } = response;
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  const body = isJson ? await json(response).catch(() => undefined) : undefined;
  if (typeof body === 'object' && body !== null && 'code' in body) return body as Problem;
  const title = `The gateway answered ${status} ${statusText}`.trim();
  return { type: 'about:blank', title, status, code: 'unknown' };
}

const json = (response: Response): Promise<unknown> => response.json();
