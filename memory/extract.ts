/** From messages that left the window, or from a turn, to what a store is to remember. Pure but for the optional extractor. */
import type { MessageLike } from './context/message.js';
import { exchangesOf } from './context/view.js';
import { episodeOf, type Episode } from './episodes/episode.js';
import { judge, type Refusal, type Verdict } from './facts/gate.js';
import { statedFacts } from './facts/stated.js';
import type { Mask } from './pii/mask.js';
import type { MemoryBatch } from './store.js';

/** Proposes facts, usually by a cheap model; what it returns is checked like everything else. May throw. */
export type ProposeFacts = (messages: readonly MessageLike[]) => Promise<readonly unknown[]>;

/** Where the messages come from, and what the gate may trust. */
export interface ExtractFrom {
  readonly threadId: string;
  /** Names the range within the thread, and in no other epoch of it; part of the batch's key. */
  readonly range: string;
  readonly mask: Mask;
  readonly trustedTools?: readonly string[];
  /** ISO time; pure code has no clock. */
  readonly now: string;
  /** More candidates than the shipped rules find. */
  readonly propose?: ProposeFacts;
}

/** What these messages leave in memory. An extractor that fails costs its candidates, nothing else. */
export async function batchFrom(
  messages: readonly MessageLike[],
  from: ExtractFrom,
): Promise<MemoryBatch> {
  const { mask, trustedTools = [], now, threadId, range } = from;
  const proposed = await (from.propose?.(messages) ?? Promise.resolve([])).catch(() => []);
  const verdicts = [...statedFacts(messages, mask), ...proposed].map((c) =>
    judge(c, { messages, mask, trustedTools }),
  );
  const key = `${threadId}:${range}`;
  return {
    key,
    threadId,
    accepted: verdicts.filter((v): v is AcceptedVerdict => v.kind === 'accepted'),
    refused: countOf(verdicts),
    episodes: exchangesOf(messages).flatMap((exchange): Episode[] => {
      const episode = episodeOf(exchange, { id: `${key}:${exchange.start}`, now, threadId, mask });
      return episode === undefined ? [] : [episode];
    }),
    now,
  };
}

type AcceptedVerdict = MemoryBatch['accepted'][number];

function countOf(verdicts: readonly Verdict[]): Partial<Record<Refusal, number>> {
  const counts: Partial<Record<Refusal, number>> = {};
  for (const v of verdicts)
    if (v.kind === 'refused') counts[v.reason] = (counts[v.reason] ?? 0) + 1;
  return counts;
}
