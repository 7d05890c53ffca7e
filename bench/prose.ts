/** Messages and replies that read like a chat's: a repeated constant would flatter every cache and every compression. */
import { loadDialogues } from './dialogues.js';

const turns = loadDialogues().flatMap((dialogue) => dialogue.turns);

export const replies: readonly string[] = turns.map((turn) => turn.assistant);

/** The n-th message of a thread; threads start at different places. */
export const userMessage = (thread: number, n: number): string =>
  pick(turns, thread * 53 + n)?.user ?? '';

/** A reply for a thread that has so many messages. */
export const replyTo = (messages: number, last: string): string =>
  pick(replies, messages + last.length) ?? '';

/** Steps through the list so that neighbours are not neighbours in the text. */
function pick<T>(list: readonly T[], n: number): T | undefined {
  return list[(n * 7919) % list.length];
}
