/** The summary buffer: a state channel of its own, so that the transcript is never rewritten (M6). */
import { z } from 'zod';
import type { MessageLike } from './message.js';

/** What stands for the messages before `upTo`. */
export const summaryBufferSchema = z.strictObject({
  text: z.string(),
  /** Number of messages, from the start of the transcript, that the text stands for. */
  upTo: z.int().min(0),
  /** Id of the last of them, '' if it has none: tells whether the transcript is still the one that was summarised. */
  upToId: z.string(),
  /** How often it was summarised. An update carries the round that it makes, so that it applies once and only to the round before. */
  round: z.int().min(0),
});
/** The value of the `summary` channel. */
export type SummaryBuffer = z.output<typeof summaryBufferSchema>;

/** The summary of a thread that has none yet. */
export const noSummary: SummaryBuffer = { text: '', upTo: 0, upToId: '', round: 0 };

/** Reducer of the `summary` channel: a compare-and-set. An update made from another round changes nothing. */
export const mergeSummary = (current: SummaryBuffer, update: SummaryBuffer): SummaryBuffer =>
  update.round === current.round + 1 && update.upTo >= current.upTo ? update : current;

/** How many messages of this transcript the summary stands for. After a message was removed its id is looked for; 0 when it is gone. */
export function coveredBy(summary: SummaryBuffer, messages: readonly MessageLike[]): number {
  if (summary.upTo === 0) return 0;
  const last = messages[summary.upTo - 1];
  if (last !== undefined && (last.id ?? '') === summary.upToId) return summary.upTo;
  if (summary.upToId === '') return 0;
  return messages.findIndex((m) => m.id === summary.upToId) + 1;
}
