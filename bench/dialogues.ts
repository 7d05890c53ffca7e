/** Real dialogues as load: where they come from, how they are played through the HTTP API, and what must stand afterwards. */
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Dialogue } from '../test/support/scripted-answers.js';

/** A collection of real dialogues beside the project, when there is one; `EVERTHREAD_DIALOGUES` names another. */
const file = process.env.EVERTHREAD_DIALOGUES ?? path.resolve('../shared/data/dialogues.jsonl');

/** 120 dialogues: the real ones, or as many made of this project's own prose, so that a clone alone can play them. */
export function loadDialogues(): readonly Dialogue[] {
  if (!existsSync(file)) return ownProse();
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Dialogue);
}

/** Three turns each, every user turn different: paragraphs of the shipped documents as replies. */
function ownProse(): readonly Dialogue[] {
  const folder = path.resolve('agents/docs');
  const texts = readdirSync(folder).map((name) => readFileSync(path.join(folder, name), 'utf8'));
  const paragraphs = texts.flatMap((text) => text.split(/\n\s*\n/)).filter((p) => p.length > 80);
  return Array.from({ length: 120 }, (_, n) => ({
    turns: [0, 1, 2].map((turn) => ({
      user: `Dialogue ${n}, question ${turn}: what do the documents say next?`,
      assistant: paragraphs[(n * 3 + turn) % paragraphs.length] ?? 'Nothing more.',
    })),
  }));
}

export const turnCount = (dialogues: readonly Dialogue[]): number =>
  dialogues.reduce((sum, { turns }) => sum + turns.length, 0);

export interface Played {
  readonly turns: number;
  /** Requests beyond one a turn: what failed or was answered 202 and was asked again with the same key. */
  readonly repeats: number;
  readonly ms: number;
}

export interface PlayOptions {
  /** A function is asked before each request. */
  readonly url: string | (() => string);
  readonly dialogues: readonly Dialogue[];
  /** Dialogues at a time, each on a thread of its own. */
  readonly atOnce: number;
  readonly onTurn?: (done: number) => void;
}

/** Plays every dialogue, asking again with the same key until a turn is answered, as a careful client does. */
export async function playDialogues(options: PlayOptions): Promise<Played> {
  const started = Date.now();
  const queue = options.dialogues.map((dialogue, index) => ({ dialogue, index }));
  let turns = 0;
  let repeats = 0;
  const worker = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      for (const turn of next.dialogue.turns) {
        const asked = await ask(options.url, threadOf(next.index), turn.user);
        if (asked.response !== turn.assistant)
          throw new Error(`${threadOf(next.index)}: another reply than the reference came back`);
        turns += 1;
        repeats += asked.repeats;
        options.onTurn?.(turns);
      }
    }
  };
  await Promise.all(Array.from({ length: options.atOnce }, worker));
  return { turns, repeats, ms: Date.now() - started };
}

const threadOf = (index: number): string => `dialogue-${index}`;

/** How long a careful client goes on asking: longer than any fault here lasts. */
const patienceMs = 120_000;
const againAfterMs = 200;

async function ask(
  url: PlayOptions['url'],
  thread: string,
  message: string,
): Promise<{ response: string; repeats: number }> {
  const headers = {
    'content-type': 'application/json',
    'x-thread-id': thread,
    'idempotency-key': randomUUID(),
  };
  const end = Date.now() + patienceMs;
  for (let repeats = 0; ; repeats += 1) {
    const body = JSON.stringify({ message });
    const base = typeof url === 'string' ? url : url();
    const answer = await fetch(`${base}/v1/chat`, { method: 'POST', headers, body }).catch(
      () => undefined,
    );
    if (answer?.status === 200) {
      const { response } = (await answer.json()) as { response: string };
      return { response, repeats };
    }
    const said = answer === undefined ? 'no answer' : `${answer.status} ${await answer.text()}`;
    if (Date.now() > end || (answer !== undefined && answer.status < 500 && answer.status !== 202))
      throw new Error(`${thread}: ${said}`);
    await pause(againAfterMs);
  }
}

/** Every thread's history, compared with its dialogue. @returns what differs; empty when all is as it was said */
export async function compareHistories(
  url: string,
  dialogues: readonly Dialogue[],
): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const [index, dialogue] of dialogues.entries()) {
    const thread = `${url}/v1/threads/${threadOf(index)}`;
    const { version } = (await (await fetch(thread)).json()) as { version: number };
    const page = (await (await fetch(`${thread}/messages?limit=200`)).json()) as {
      messages: { role: string; content: string }[];
    };
    const got = page.messages.map(({ role, content }) => `${role}: ${content}`);
    const want = dialogue.turns.flatMap((t) => [`user: ${t.user}`, `assistant: ${t.assistant}`]);
    if (JSON.stringify(got) !== JSON.stringify(want))
      wrong.push(`${threadOf(index)}: history differs`);
    if (version !== dialogue.turns.length) wrong.push(`${threadOf(index)}: version ${version}`);
  }
  return wrong;
}
