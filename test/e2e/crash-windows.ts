/**
 * The windows of DESIGN 6 and docs/CRASHES.md in which a process dies: each row arms its point, drives the product over HTTP,
 * sees the process die by SIGKILL, and what took over is asked. All die first, one after the other, and heal together.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import path from 'node:path';
import { startMortal } from '../support/mortal.js';
import type { Mortal, MortalKind } from '../support/mortal.js';
import type { Answer } from '../support/product.js';
import { crash, expectOneTurn, heal } from './crash-and-heal.js';
import type { Crash, Window } from './crash-and-heal.js';

const poem = 'one two three four five six seven eight nine ten';
const tool = 'tool=clock:%7B%7D';

const windows: readonly Window[] = [
  {
    says: 'W1 the gateway dies before the accept: nothing happened, and the retry starts it',
    ...{ point: 'before-accept', dies: 'gateway', heals: 'retry', calls: 1, claims: 1 },
    also: unknownBefore,
  },
  {
    says: 'W1 the gateway dies before the COMMIT of the accept: nothing happened, and the retry starts it',
    ...{
      point: 'in-accept',
      dies: 'gateway',
      heals: 'retry',
      calls: 1,
      claims: 1,
      sqliteToo: true,
    },
    also: unknownBefore,
  },
  {
    says: 'W2 the gateway dies between accept and signal: the retry attaches to the same turn',
    ...{ point: 'after-accept', dies: 'gateway', heals: 'retry', calls: 1, claims: 1 },
  },
  {
    says: 'W2 T2 the gateway dies between accept and signal, and nobody retries: the sweeper signals',
    ...{
      point: 'after-accept',
      dies: 'gateway',
      heals: 'sweeper',
      calls: 1,
      claims: 1,
      sqliteToo: true,
    },
  },
  {
    says: 'W4 the gateway dies after the signal: the turn completes by itself, and its key replays it',
    ...{ point: 'after-signal', dies: 'gateway', heals: 'itself', calls: 1, claims: 1 },
  },
  {
    says: 'W16 the gateway dies with the committed reply in its hand: the key replays it byte for byte',
    ...{ point: 'before-reply', dies: 'gateway', heals: 'itself', calls: 1, claims: 1 },
  },
  {
    says: 'W8 a worker dies before its claim: another attempt claims, one model call',
    ...{ point: 'before-claim', dies: 'worker', heals: 'itself', calls: 1, claims: 1 },
  },
  {
    says: 'W8 a worker dies before the COMMIT of its claim: one claim, one model call',
    ...{ point: 'in-claim', dies: 'worker', heals: 'itself', calls: 1, claims: 1 },
  },
  {
    says: 'W8 a worker dies with its claim: the next one takes a higher fence, one model call',
    ...{
      point: 'after-claim',
      dies: 'worker',
      heals: 'itself',
      calls: 1,
      claims: 2,
      sqliteToo: true,
    },
  },
  {
    says: 'W8 a worker dies as it is about to call the model: one model call',
    ...{ point: 'before-model', dies: 'worker', heals: 'itself', calls: 1, claims: 2 },
  },
  {
    says: 'W9 a worker dies with an answer of which nothing is written: one call more is paid, one reply commits',
    ...{ point: 'after-model', dies: 'worker', heals: 'itself', calls: 2, claims: 2 },
  },
  {
    says: 'C3 a worker dies before the flush of a superstep: that superstep runs again',
    ...{ point: 'before-flush', dies: 'worker', heals: 'itself', calls: 3, claims: 2 },
    message: tool,
  },
  {
    says: 'C3 a worker dies before the COMMIT of a flush: that superstep runs again',
    ...{ point: 'in-flush', dies: 'worker', heals: 'itself', calls: 3, claims: 2, sqliteToo: true },
    message: tool,
  },
  {
    says: 'W10 C3 a worker dies after a superstep is flushed: the finished superstep is not run again',
    ...{
      point: 'after-flush',
      dies: 'worker',
      heals: 'itself',
      calls: 2,
      claims: 2,
      sqliteToo: true,
    },
    message: tool,
  },
  {
    says: 'W10 C3 a worker dies after a parallel task is flushed: only the other task runs again',
    ...{ point: 'after-flush', dies: 'worker', heals: 'itself', calls: 3, claims: 2 },
    message: 'delay=400',
    graph: 'parallel',
    also: quickRanOnce,
  },
  {
    says: 'C4 a worker dies before the COMMIT of the reply: nothing of it stands, another attempt commits',
    ...{
      point: 'before-commit',
      dies: 'worker',
      heals: 'itself',
      calls: 2,
      claims: 2,
      sqliteToo: true,
    },
  },
  {
    says: 'W11 C1 a worker dies after the COMMIT, before anybody knows: one version, one model call',
    ...{
      point: 'after-commit',
      dies: 'worker',
      heals: 'itself',
      calls: 1,
      claims: 1,
      sqliteToo: true,
    },
  },
  {
    says: 'W11 C1 a worker dies before it reports the commit to Temporal: one version, one model call',
    ...{ point: 'before-ack', dies: 'worker', heals: 'itself', calls: 1, claims: 1 },
  },
  {
    says: 'W36 a worker dies after a yield, before it reports it: the finished superstep is not run again, no loss counts',
    ...{ point: 'after-yield', dies: 'worker', heals: 'itself', calls: 2, claims: 2 },
    graph: 'sliced',
  },
  // The last one, since it takes the longest and another row's death would hit it too.
  {
    says: 'W9 S2 a worker dies in the middle of a stream: viewers are reset, one call more is paid',
    ...{ point: 'mid-stream', dies: 'worker', heals: 'itself', calls: 2, claims: 2 },
    message: `gap=100 say=${encodeURIComponent(poem)}`,
    streams: true,
    reply: poem,
    also: streamStartsOver,
  },
];

/** Half a minute on a machine that does nothing else; each death costs a start, and starts share the processor. */
const longestDying = 540_000;

/** Declares the tests of one backend. */
export function crashWindows(kind: MortalKind): void {
  let s: Mortal;
  const rows = windows.filter((window) => kind === 'postgres' || window.sqliteToo === true);
  const crashed = new Map<Window, Crash>();
  const crashOf = (window: Window): Crash => {
    const found = crashed.get(window);
    if (found === undefined) throw new Error('no crash was tried');
    return found;
  };

  beforeAll(async () => {
    s = await startMortal(kind, {
      EVERTHREAD_CONFIG: path.resolve('test/fixtures/projects/crashing/langgraph.json'),
    });
    for (const window of rows) {
      const thread = `w${windows.indexOf(window)}-${window.point}`;
      crashed.set(window, await crash(s, window, thread));
    }
  }, longestDying);
  afterAll(() => s.stop());

  describe(`a process dies, ${kind}`, () => {
    test.each(rows.map((window) => [window.says, window] as const))('%s', async (_, window) => {
      const { gone, thread, first } = crashOf(window);
      if (gone instanceof Error) throw gone;
      expect(gone).toBe(kind === 'sqlite' ? 'dev' : window.dies);
      await heal(s, window, thread);
      await window.also?.(s, thread, await first);
      await expectOneTurn(s, window, thread);
    });
  });
}

async function unknownBefore(s: Mortal, thread: string): Promise<void> {
  expect((await s.get(`/v1/threads/${thread}`)).status).toBe(404);
  expect(s.model.count(thread)).toBe(0);
}

/** The client of a gateway that lives sees the reset; the one of `dev` lost its connection. */
async function streamStartsOver(s: Mortal, _: string, first: Answer | undefined): Promise<void> {
  if (s.kind === 'sqlite') return;
  const text = first?.text ?? '';
  const names = [...text.matchAll(/^event: (\w+)$/gm)].map(([, name]) => name);
  expect(names[0]).toBe('accepted');
  expect(names).toContain('reset');
  expect(names.at(-1)).toBe('done');
  expect(shownIn(text.slice(text.lastIndexOf('event: reset')))).toBe(poem);
}

/** What a client shows that takes a snapshot for all that came before it. */
function shownIn(stream: string): string {
  let text = '';
  for (const [, name, data = '{}'] of stream.matchAll(/^event: (token|snapshot)\ndata: (.*)$/gm)) {
    const part = JSON.parse(data) as { text: string };
    text = name === 'token' ? text + part.text : part.text;
  }
  return text;
}

async function quickRanOnce(s: Mortal, thread: string): Promise<void> {
  const asked = s.model.calls.filter((c) => c.last.includes(thread)).map((c) => c.last);
  expect(asked.filter((last) => last.startsWith('quick'))).toHaveLength(1);
}
