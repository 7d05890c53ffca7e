/** Follows one turn to its end, over as many connections as it takes. */
import type { TurnReply, TurnRequest } from '../contracts/http.schema.js';
import { eventsOfReply, readEvents } from './event-stream.js';
import type { SeenEvent } from './events.js';
import { GatewayProblem, GatewayUnreachable, isProblem, request } from './request.js';

export interface FollowOptions {
  /** Stops following; the turn itself goes on. */
  readonly signal?: AbortSignal;
  /** Told each time that the connection is lost and will be tried again. */
  readonly onLost?: () => void;
}

/** A turn that is to be sent, or one that is there. */
export type Followed =
  | {
      readonly kind: 'new';
      readonly threadUrl: string;
      readonly turn: TurnRequest;
      readonly key: string;
    }
  | {
      readonly kind: 'known';
      readonly threadUrl: string;
      readonly turnId: string;
      readonly lastEventId: string | undefined;
      /** `?stream_mode=…`, or empty. */
      readonly query: string;
    };

/** A restarting gateway is back sooner; a person does not wait longer. */
const giveUpAfterMs = 120_000;
const leastPauseMs = 250;
const mostPauseMs = 5_000;

/** What following a turn has learnt so far. */
interface Learnt {
  turnId: string | undefined;
  lastEventId: string | undefined;
  /** A backend without keys cannot take the same turn twice and notice. */
  keys: boolean;
  lostSinceMs: number | undefined;
  pauseMs: number;
}

export async function* follow(
  followed: Followed,
  headers: Readonly<Record<string, string>>,
  { signal = new AbortController().signal, onLost = () => undefined }: FollowOptions,
): AsyncGenerator<SeenEvent> {
  const learnt: Learnt = {
    turnId: followed.kind === 'known' ? followed.turnId : undefined,
    lastEventId: followed.kind === 'known' ? followed.lastEventId : undefined,
    keys: true,
    lostSinceMs: undefined,
    pauseMs: leastPauseMs,
  };
  const isOver = (): boolean => signal.aborted;
  while (!isOver()) {
    let lost: unknown;
    try {
      const response = await connect(followed, learnt, { signal, headers });
      for await (const event of eventsOf(response, learnt)) {
        yield event;
        if (event.event === 'done' || event.event === 'error') return;
      }
    } catch (error) {
      if (isOver()) return;
      if (learnt.keys && isProblem(error, 'idempotency_unsupported')) {
        learnt.keys = false;
        continue;
      }
      lost = error;
    }
    refuseToTryAgain(lost, learnt);
    onLost();
    await backOff(learnt, signal);
  }
}

function connect(
  followed: Followed,
  { turnId, lastEventId, keys }: Learnt,
  { signal, headers }: { signal: AbortSignal; headers: Readonly<Record<string, string>> },
): Promise<Response> {
  const accept = { ...headers, accept: 'text/event-stream' };
  if (turnId === undefined && followed.kind === 'new') {
    const { threadUrl, turn, key } = followed;
    return request(`${threadUrl}/turns`, {
      ...{ method: 'POST', signal, body: JSON.stringify(turn) },
      headers: {
        ...accept,
        'content-type': 'application/json',
        ...(keys && { 'idempotency-key': key }),
      },
    });
  }
  const query = followed.kind === 'known' ? followed.query : queryOf(followed.turn);
  return request(`${followed.threadUrl}/turns/${turnId ?? ''}/stream${query}`, {
    signal,
    headers: { ...accept, ...(lastEventId !== undefined && { 'last-event-id': lastEventId }) },
  });
}

/** A reader that comes back asks for the same stream modes. */
export function queryOf({
  stream_mode: modes = [],
  stream_subgraphs: subgraphs,
}: Pick<TurnRequest, 'stream_mode' | 'stream_subgraphs'>): string {
  const query = new URLSearchParams();
  for (const mode of [modes].flat()) query.append('stream_mode', mode);
  if (subgraphs === true) query.set('stream_subgraphs', 'true');
  return query.size === 0 ? '' : `?${query.toString()}`;
}

async function* eventsOf(response: Response, learnt: Learnt): AsyncGenerator<SeenEvent> {
  if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) {
    const reply = (await response.json()) as TurnReply;
    learnt.turnId = reply.turn_id;
    yield* eventsOfReply(reply);
    return;
  }
  if (response.body === null) return;
  let leastMs = leastPauseMs;
  for await (const { event, id } of readEvents(response.body, (ms) => (leastMs = ms))) {
    learnt.lastEventId = id ?? learnt.lastEventId;
    if (event.event === 'accepted') learnt.turnId = event.data.turn_id;
    learnt.lostSinceMs = undefined;
    learnt.pauseMs = Math.min(leastMs, leastPauseMs);
    yield id === undefined ? event : { ...event, id };
  }
  learnt.pauseMs = Math.min(leastMs, mostPauseMs);
}

/** Throws unless the connection was merely lost, or the gateway is not ready, and trying again cannot start the turn twice. */
function refuseToTryAgain(error: unknown, { turnId, keys, lostSinceMs }: Learnt): void {
  if (error instanceof GatewayProblem && !isPassing(error)) throw error;
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

/** Not ready yet; or something on the way, or an overloaded process, that says nothing of the turn. */
function isPassing({ problem: { status, code } }: GatewayProblem): boolean {
  return [408, 503].includes(status) || (code === 'unknown' && [502, 504].includes(status));
}

/** With jitter: readers that lost a gateway together do not come back together. */
async function backOff(learnt: Learnt, signal: AbortSignal): Promise<void> {
  learnt.lostSinceMs ??= Date.now();
  const waitMs = learnt.pauseMs * (0.75 + Math.random() / 2);
  learnt.pauseMs = Math.min(learnt.pauseMs * 2, mostPauseMs);
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, waitMs);
    signal.addEventListener('abort', end);
  });
}
