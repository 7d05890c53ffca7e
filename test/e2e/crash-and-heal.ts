/** One process that dies at its point, what heals its turn, and what must then stand: the machinery of `crash-windows.ts`. */
import { expect } from '@jest/globals';
import type { CrashPoint } from '../../contracts/crash-point.js';
import type { Mortal } from '../support/mortal.js';
import type { Answer } from '../support/product.js';
import { until } from '../support/until.js';

type Gone = 'dev' | 'gateway' | 'worker';

/** When a process dies, and what that costs. */
export interface Window {
  readonly says: string;
  readonly point: CrashPoint;
  readonly dies: 'gateway' | 'worker';
  /** What is sent with the key; the model's journal is searched for its last word, the thread. */
  readonly message?: string;
  readonly graph?: string;
  /** The client reads a stream, and the point is armed when it has been shown a token. */
  readonly streams?: true;
  /** Who makes the turn go on. */
  readonly heals: 'itself' | 'retry' | 'sweeper';
  /** Model calls in all when nothing else died meanwhile, and how many claims the turn then took. */
  readonly calls: number;
  readonly claims: number;
  readonly reply?: string;
  /** SQLite has its own way of committing, and one process that dies whole; the other windows are the same there. */
  readonly sqliteToo?: true;
  readonly also?: (s: Mortal, thread: string, first: Answer | undefined) => Promise<void>;
}

/** What became of the processes and of the client. */
export interface Crash {
  readonly thread: string;
  readonly gone: Gone | Error;
  /** What the client that was there got, if it got anything. */
  readonly first: Promise<Answer | undefined>;
}

/** Lets the window's process die in a turn of this thread. */
export async function crash(s: Mortal, window: Window, thread: string): Promise<Crash> {
  const arm = (): Promise<void> => s.arm(window.point, thread);
  if (window.streams === undefined) await arm();
  const first = ask(s, window, thread, window.streams && arm).catch(() => undefined);
  try {
    return { thread, first, gone: await s.dead(window.point, thread) };
  } catch (error) {
    return { thread, first, gone: error as Error };
  }
}

const textOf = ({ message = '' }: Window, thread: string): string => `${message} ${thread}`.trim();

/** The same request each time: it carries the thread's name as its key. */
function ask(
  s: Mortal,
  window: Window,
  thread: string,
  onToken?: () => Promise<void>,
): Promise<Answer> {
  const message = textOf(window, thread);
  const body = { message, ...(window.graph === undefined ? {} : { graph: window.graph }) };
  const headers = { 'idempotency-key': thread };
  const route = `/v1/threads/${thread}/turns`;
  return onToken === undefined
    ? s.post(route, body, headers)
    : s.stream(route, { body, headers, onToken });
}

/** Waits until the turn has completed, however it does. */
export async function heal(s: Mortal, window: Window, thread: string): Promise<void> {
  switch (window.heals) {
    case 'retry':
      return;
    case 'sweeper':
      await s.age(thread);
      break;
    case 'itself':
  }
  await until(`${thread} to complete without a client`, async () =>
    (await s.get(`/v1/threads/${thread}`)).json.version === 1 ? true : undefined,
  );
}

/** I3, I4, I6, I19: one turn, one version, one reply for ever, and no call that no lost claim explains. */
export async function expectOneTurn(s: Mortal, window: Window, thread: string): Promise<void> {
  const replay = await ask(s, window, thread);
  expect(replay.status).toBe(200);
  if (window.heals !== 'retry') expect(replay.headers.get('idempotent-replayed')).toBe('true');
  expect(replay.json).toMatchObject({ seq: 1, epoch: 1, version: 1, status: 'committed' });
  if (window.graph === undefined)
    expect(replay.json.response).toBe(window.reply ?? `seen 1: ${textOf(window, thread)}`);
  const again = await ask(s, window, thread);
  expect(again.text).toBe(replay.text);
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  const { json } = await s.get(`/v1/threads/${thread}/history`);
  expect(json.history).toMatchObject([{ version: 1, turn_id: replay.json.turn_id }]);
  const claims = await s.fence(thread);
  const calls = s.model.count(thread);
  // Another row's death may have hit this turn too: then a claim more, and at most a call more.
  if (claims === window.claims) expect(calls).toBe(window.calls);
  else expect(calls).toBeLessThanOrEqual(window.calls + claims - window.claims);
  const next = await s.post(`/v1/threads/${thread}/turns`, { message: 'and on' });
  expect(next.json).toMatchObject({ seq: 2, version: 2, status: 'committed' });
  if (window.graph === undefined) expect(next.json.response).toBe('seen 2: and on');
}
