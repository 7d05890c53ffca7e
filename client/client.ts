/** A client of the gateway's HTTP API (README.md). */
import type {
  AcceptedReply,
  HistoryReply,
  MessagePageReply,
  StateReply,
  ThreadPageReply,
  ThreadReply,
  TranscriptMessage,
  TurnReply,
  TurnRequest,
  WakeReply,
} from '../contracts/http.schema.js';
import type { StreamMode } from '../contracts/stream-modes.js';
import type { SeenEvent } from './events.js';
import { follow, type Followed, type FollowOptions, queryOf } from './follow.js';
import { GatewayProblem, isProblem, request } from './request.js';

export { textAfter, type ModeEvent, type SeenEvent, type TurnEvent } from './events.js';
export { GatewayProblem, GatewayUnreachable, isProblem } from './request.js';
export type { FollowOptions, StreamMode, ThreadReply, TurnReply, TurnRequest };

export interface ClientOptions {
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface SendOptions extends FollowOptions {
  /** The same key and turn are one turn, however often they are sent; a new key for each call unless given. */
  readonly key?: string;
}

export interface JoinOptions extends FollowOptions {
  readonly lastEventId?: string;
  readonly modes?: readonly StreamMode[];
  readonly subgraphs?: boolean;
}

export interface ThreadFilter {
  readonly status?: ThreadReply['status'];
  readonly graph?: string;
}

export interface EverthreadClient {
  /** @throws {GatewayUnreachable} */
  check(): Promise<void>;
  createThread(thread: {
    readonly thread_id?: string;
    readonly graph?: string;
    readonly metadata?: Readonly<Record<string, unknown>>;
  }): Promise<ThreadReply>;
  /** Threads, newest first; asks for more as they are taken. */
  threads(filter?: ThreadFilter): AsyncGenerator<ThreadReply>;
  /** Undefined when there is no such thread yet. */
  thread(threadId: string): Promise<ThreadReply | undefined>;
  /** Has Temporal look at a thread that seems stuck; repeatable, and starts nothing of its own. */
  wake(threadId: string): Promise<WakeReply>;
  /** Goes back to the state that an earlier version left, as a new version. @returns its turn, settled or accepted */
  reset(threadId: string, version: number): Promise<TurnReply | AcceptedReply>;
  /** Deletes it and all it holds; repeatable. */
  delete(threadId: string): Promise<void>;
  /** Committed messages, oldest first. */
  messages(threadId: string): AsyncGenerator<TranscriptMessage>;
  /** The committed state of the graph. */
  state(threadId: string): Promise<StateReply>;
  /** Committed versions, newest first. */
  history(threadId: string): Promise<HistoryReply>;
  /**
   * Sends a turn and gives its events to the end, or until `signal` aborts. A broken connection is taken up again:
   * before the turn is accepted by its key, afterwards by its id.
   * @throws {GatewayProblem} when it is refused; {GatewayUnreachable} when nobody has answered for two minutes
   */
  stream(threadId: string, turn: TurnRequest, options?: SendOptions): AsyncGenerator<SeenEvent>;
  /**
   * Sends a turn and waits for its committed reply.
   * @throws {GatewayProblem} when it is refused or fails; {GatewayUnreachable} as `stream`
   */
  post(threadId: string, turn: TurnRequest, options?: SendOptions): Promise<TurnReply>;
  /** Answers an interrupt; null passes a static breakpoint. */
  resume(threadId: string, value: unknown, options?: SendOptions): Promise<TurnReply>;
  /** Joins a turn that is there, wherever it stands; never starts work. */
  join(threadId: string, turnId: string, options?: JoinOptions): AsyncGenerator<SeenEvent>;
  /** The turn as it is, settled or not. */
  turn(threadId: string, turnId: string): Promise<TurnReply>;
  /** @throws {GatewayProblem} `turn_settled` when it has ended otherwise */
  cancel(threadId: string, turnId: string): Promise<TurnReply>;
}

export function createClient(baseUrl: string, options: ClientOptions = {}): EverthreadClient {
  const { headers = {} } = options;
  const base = baseUrl.replace(/\/+$/, '');
  const threadUrl = (id: string): string => `${base}/v1/threads/${encodeURIComponent(id)}`;
  const ask = async <T>(url: string, method = 'GET', body?: unknown): Promise<T> => {
    const response = await request(url, {
      method,
      headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return (await response.json()) as T;
  };
  return {
    ...turnCalls(threadUrl, headers),
    async check() {
      await request(`${base}/healthz`, { headers });
    },
    createThread: (thread) => ask(`${base}/v1/threads`, 'POST', thread),
    async *threads(filter = {}) {
      const query = new URLSearchParams({ ...filter, limit: '100' });
      for (;;) {
        const page = await ask<ThreadPageReply>(`${base}/v1/threads?${query.toString()}`);
        yield* page.threads;
        if (page.next_cursor === null) return;
        query.set('after', page.next_cursor);
      }
    },
    wake: (id) => ask(`${threadUrl(id)}/wake`, 'POST'),
    reset: (id, version) => ask(`${threadUrl(id)}/reset`, 'POST', { version }),
    async thread(id) {
      try {
        return await ask<ThreadReply>(threadUrl(id));
      } catch (error) {
        if (isProblem(error, 'not_found')) return undefined;
        throw error;
      }
    },
    async delete(id) {
      await request(threadUrl(id), { method: 'DELETE', headers });
    },
    async *messages(id) {
      let query = '?limit=200';
      for (;;) {
        const page = await ask<MessagePageReply>(`${threadUrl(id)}/messages${query}`);
        yield* page.messages;
        if (page.next_cursor == null) return;
        query = `?limit=200&after=${encodeURIComponent(page.next_cursor)}`;
      }
    },
    state: (id) => ask(`${threadUrl(id)}/state`),
    history: (id) => ask(`${threadUrl(id)}/history`),
    turn: (id, turnId) => ask(`${threadUrl(id)}/turns/${turnId}`),
    cancel: (id, turnId) => ask(`${threadUrl(id)}/turns/${turnId}/cancel`, 'POST'),
  };
}

function turnCalls(
  threadUrl: (id: string) => string,
  headers: Readonly<Record<string, string>>,
): Pick<EverthreadClient, 'stream' | 'post' | 'resume' | 'join'> {
  const newTurn = (id: string, turn: TurnRequest, key?: string): Followed => ({
    ...{ kind: 'new', threadUrl: threadUrl(id), turn, key: key ?? crypto.randomUUID() },
  });
  const stream: EverthreadClient['stream'] = (id, turn, { key, ...options } = {}) =>
    follow(newTurn(id, turn, key), headers, options);
  const post: EverthreadClient['post'] = async (id, turn, options = {}) => {
    for await (const event of stream(id, turn, options)) {
      if (event.event === 'done') return event.data;
      if (event.event === 'error') throw new GatewayProblem(event.data);
    }
    options.signal?.throwIfAborted();
    throw new Error('the stream ended before the turn did');
  };
  return {
    stream,
    post,
    resume: (id, value, options) => post(id, { resume: value } as TurnRequest, options),
    join(id, turnId, { lastEventId, modes = [], subgraphs = false, ...options } = {}) {
      const query = queryOf({ stream_mode: [...modes], stream_subgraphs: subgraphs });
      const place = { kind: 'known', threadUrl: threadUrl(id), turnId } as const;
      return follow({ ...place, lastEventId, query }, headers, options);
    },
  };
}
